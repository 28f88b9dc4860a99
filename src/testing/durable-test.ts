import type { AnyAgent } from '../define/agent-definition.ts';
import type { AnyProgram, ProgramOutputOf } from '../define/program/program-definition.ts';
import type { DurableTestOptions, ServerOptions } from './durable-test-options.ts';
import type { ProgramTestOptions, TestedProgram } from './tested-program.ts';
import type { TestedRunOf } from './tested-run.ts';

/**
 * Runs an agent like `testAgent`, or a program like `testProgram`, but on a Temporal server with its own worker and client, in real time: keep deadlines
 * and waits short. Everything is shut down at the end, even after an error.
 *
 * @example
 * const { ledger } = await durableTest(clerk, {
 *   input: 'Refund order 42',
 *   model: scriptedModel([callTool('refund', { order: 42 }), say('Done.')]),
 *   faults: [killWorker({ tool: 'refund' })],
 * });
 */
export async function durableTest<Program extends AnyProgram>(
  program: Program,
  options: ProgramTestOptions<Program> & ServerOptions,
): Promise<TestedProgram<ProgramOutputOf<Program>>>;
export async function durableTest<Agent extends AnyAgent>(agent: Agent, options: DurableTestOptions<Agent>): Promise<TestedRunOf<Agent>>;
export async function durableTest(tested: AnyAgent | AnyProgram, options: object): Promise<unknown> {
  // Loaded on use: a test in memory needs neither a worker nor a server.
  const { runDurably, runProgramDurably } = await import('./durable/run-durably.ts');
  if (tested.kind === 'longhaul.program') return runProgramDurably(tested, options as ProgramTestOptions & ServerOptions);
  return runDurably(tested, options as DurableTestOptions);
}

/** A server for all tests of a file or a suite. */
export interface TestServer extends AsyncDisposable {
  /** `host:port`, for `durableTest`. */
  readonly address: string;
  readonly namespace: string;
  stop(): Promise<void>;
}

/**
 * Starts a server for many tests, or uses the one that `TEMPORAL_ADDRESS` names. `say` receives the progress, because
 * building a server can take minutes.
 */
export async function startTestServer({ say }: { say?: (line: string) => void } = {}): Promise<TestServer> {
  const { startDevServer } = await import('../dev-server/index.ts');
  const { address, namespace, stop } = await startDevServer(say === undefined ? {} : { say });
  return { address, namespace, stop, [Symbol.asyncDispose]: stop };
}
