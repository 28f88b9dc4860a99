import { errorMessage, memberOf, UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import type { AnyAgent } from '../define/agent-definition.ts';
import type { AnyProgram, ProgramOutputOf } from '../define/program/program-definition.ts';
import { installedSdk } from '../temporal/installed-sdk.ts';
import type { DurableTestOptions, ProgramTestOptions, ServerOptions, TestedProgram, TestedRunOf, TestOptions } from './tested-run.ts';

/**
 * Runs an agent in memory, without a server and in milliseconds. The loop, the activities and the policies are the same as in
 * a worker. Time is virtual whenever nothing runs. Returns the result and record of the run, for every status. Throws if
 * the run cannot start, waits for a decision that the test does not make, or ends before a planned fault or message, and
 * if the model's script ran out or was not used up. Needs the package `@temporalio/testing`.
 *
 * @example
 * const { result, steps } = await testAgent(clerk, {
 *   input: 'Where is order 42?',
 *   model: scriptedModel([callTool('look_up_order', { order: 42 }), say('It is on its way.')]),
 * });
 */
export async function testAgent<Agent extends AnyAgent>(agent: Agent, options: TestOptions<Agent>): Promise<TestedRunOf<Agent>> {
  // Loaded on use: a test that needs only a scripted model loads none of this.
  const { runInMemory } = await loadInMemory(() => import('./memory/memory-environment.ts'));
  return runInMemory(agent, options) as Promise<TestedRunOf<Agent>>;
}

/**
 * Runs a program in memory, without a server and in milliseconds. The interpreter, the activities and the policies are the
 * same as in a worker. Time is virtual whenever nothing runs. Returns the result and record of the run, for every status.
 * Throws in the same cases as `testAgent`, and needs the same package.
 *
 * @example
 * const { result } = await testProgram(triage, {
 *   input: { ticket: 'Money back!' },
 *   model: scriptedModel([structured({ kind: 'refund', confidence: 0.9 })]),
 * });
 */
export async function testProgram<Program extends AnyProgram>(
  program: Program,
  options: ProgramTestOptions<Program>,
): Promise<TestedProgram<ProgramOutputOf<Program>>> {
  // Loaded on use: a test that needs only a scripted model loads none of this.
  const { runProgramInMemory } = await loadInMemory(() => import('./memory/memory-environment.ts'));
  return runProgramInMemory(program, options) as Promise<TestedProgram<ProgramOutputOf<Program>>>;
}

/**
 * Runs an agent like `testAgent`, or a program like `testProgram`, but on a Temporal server with its own worker and client, in real time:
 * keep deadlines and waits short. Everything is shut down at the end, even after an error.
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
  if (memberOf(tested, 'kind') === 'longhaul.program')
    return runProgramDurably(tested as AnyProgram, options as ProgramTestOptions & ServerOptions);
  return runDurably(tested as AnyAgent, options as DurableTestOptions);
}

/** A server for all tests of a file or a suite. */
export interface TestServer extends AsyncDisposable {
  /** `host:port`, for `durableTest`. */
  readonly address: string;
  /** The namespace of the server. */
  readonly namespace: string;
  /** Ends the server. */
  stop(): Promise<void>;
}

/**
 * Starts a server for many tests, or uses the one that `TEMPORAL_ADDRESS` names. `say` receives the progress, because
 * building a server can take minutes.
 */
export async function startTestServer({ say }: { say?: (line: string) => void } = {}): Promise<TestServer> {
  const { startDevServer } = await import('../dev-server/dev-server.ts');
  const { address, namespace, stop } = await startDevServer(defined({ say }));
  return { address, namespace, stop, [Symbol.asyncDispose]: stop };
}

/** The package of Temporal's SDK that provides the environment of activities in memory. Nothing else needs it. */
const PACKAGE = '@temporalio/testing';

/** Loads a module for tests in memory. Throws a UsageError with the install command if the package is missing. */
async function loadInMemory<Module>(load: () => Promise<Module>): Promise<Module> {
  try {
    return await load();
  } catch (error) {
    if (memberOf(error, 'code') !== 'ERR_MODULE_NOT_FOUND' || !errorMessage(error).includes(`'${PACKAGE}'`)) throw error;
    const version = installedSdk()['@temporalio/common'];
    throw new UsageError(
      `testAgent and testProgram need "${PACKAGE}", which is not installed: npm install --save-dev ${PACKAGE}${version === undefined ? '' : `@${version}`}`,
      { cause: error },
    );
  }
}
