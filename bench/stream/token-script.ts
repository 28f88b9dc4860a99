import { fileURLToPath } from 'node:url';
import { type FakeProvider, startFakeProvider } from '../../test/processes/fake-provider.ts';

/** The first message of a run, as JSON: each answer streams `tokens` tokens, and all but the last one call a tool. */
export interface TokenScript {
  /** Steps with a call. */
  steps: number;
  /** Tokens of each answer. */
  tokens: number;
  /** Tokens in a second; 0: without a pause. */
  rate: number;
  /** Milliseconds before the first token, so that runs which began together do not stream in step. */
  phaseMs: number;
  /** True: a call that waits for approval comes first. */
  asks?: boolean;
}

/** Starts a provider that answers as the script of each run says, and stamps each token with its send time. */
export function startTokenProvider(): Promise<FakeProvider> {
  return startFakeProvider(fileURLToPath(new URL('../processes/token-provider.ts', import.meta.url)));
}
