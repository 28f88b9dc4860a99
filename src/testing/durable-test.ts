import type { AnyAgent } from '../define/agent-definition.ts';
import type { DurableTestOptions } from './durable-test-options.ts';
import type { TestedRunOf } from './tested-run.ts';

/**
 * The same as `testAgent` on a Temporal server, with a worker and a client of its own, in real time: keep deadlines and
 * waits short. Everything is shut down in the end, whatever happens.
 *
 * @example
 * const { ledger } = await durableTest(clerk, {
 *   input: 'Refund order 42',
 *   model: scriptedModel([callTool('refund', { order: 42 }), say('Done.')]),
 *   faults: [killWorker({ tool: 'refund' })],
 * });
 */
export async function durableTest<Agent extends AnyAgent>(agent: Agent, options: DurableTestOptions<Agent>): Promise<TestedRunOf<Agent>> {
  // A worker and a server are loaded by whoever needs them.
  const { runDurably } = await import('./durable/run-durably.ts');
  return runDurably(agent, options) as Promise<TestedRunOf<Agent>>;
}

/** A server for the tests of a file or a suite. */
export interface TestServer extends AsyncDisposable {
  /** `host:port`, for `durableTest`. */
  readonly address: string;
  readonly namespace: string;
  stop(): Promise<void>;
}

/**
 * Starts a server for many tests; the one that `TEMPORAL_ADDRESS` names is used as it is. `say` is told what is tried,
 * which takes minutes where a server has to be built first.
 */
export async function startTestServer({ say }: { say?: (line: string) => void } = {}): Promise<TestServer> {
  const { startDevServer } = await import('../dev-server/index.ts');
  const { address, namespace, stop } = await startDevServer(say === undefined ? {} : { say });
  return { address, namespace, stop, [Symbol.asyncDispose]: stop };
}
