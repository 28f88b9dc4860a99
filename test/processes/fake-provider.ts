import { fileURLToPath } from 'node:url';
import { ProgramProcess } from './program-process.ts';

/** A fake provider that runs in a separate process. */
export interface FakeProvider {
  /** The `baseURL` for a client library. */
  baseURL: string;
  stop: () => Promise<void>;
}

const PROGRAM = fileURLToPath(new URL('../../bench/processes/provider.ts', import.meta.url));

/** Starts a fake provider on a free port of the loopback interface, by default the script's. Throws if its process ends at once. */
export async function startFakeProvider(program: string = PROGRAM): Promise<FakeProvider> {
  const provider = new ProgramProcess<never, { type: 'ready'; port: number }>(program, {});
  const { port } = await provider.start();
  return { baseURL: `http://127.0.0.1:${port}/v1`, stop: () => provider.stop() };
}
