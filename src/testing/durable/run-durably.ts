import { randomUUID } from 'node:crypto';
import { connect } from '../../client/connect.ts';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import { queryRun } from '../../client/read/query-run.ts';
import type { StartOptions } from '../../client/start/start-run.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import type { ApprovalView } from '../../core/domain/approvals/approval.ts';
import type { Event } from '../../core/domain/record/event.ts';
import { ProgramResult } from '../../core/domain/run/program-result.ts';
import { openingOf } from '../../core/domain/run/opening.ts';
import { RunResult, type RunResultFields } from '../../core/domain/run/result.ts';
import { type DataView, QUERIES } from '../../core/protocol.ts';
import { type DevServer, startDevServer } from '../../dev-server/index.ts';
import { installLog } from '../../../worker/install-log.ts';
import type { DurableTestOptions, ServerOptions } from '../durable-test-options.ts';
import { effectsLedger } from '../effects-ledger.ts';
import { assertPlanCarriedOut } from '../harness/assert-plan.ts';
import { ApprovalDriver } from '../harness/approval-driver.ts';
import { Harness } from '../harness/harness.ts';
import { withinTime } from '../harness/within-time.ts';
import { programParts, programStart } from '../harness/program-parts.ts';
import { workerParts, type WorkerParts } from '../harness/worker-parts.ts';
import { traceOf } from '../../core/program/trace/trace-of.ts';
import type { ProgramTestOptions, TestedProgram } from '../tested-program.ts';
import type { TestedRecord, TestedRun } from '../tested-run.ts';
import { UndecidedRun } from '../undecided-run.ts';
import { durableAccess } from './durable-access.ts';
import { driveApprovals } from './durable-waiting.ts';
import { DurableWorkers } from './durable-workers.ts';
import { workerOptions } from './worker-options.ts';

/** Runs an agent on a server with everything that the test plans. */
export async function runDurably(agent: AnyAgent, options: DurableTestOptions): Promise<TestedRun<unknown>> {
  const harness = new Harness(agent, options);
  const ledger = options.ledger ?? effectsLedger();
  const parts = workerParts(harness, agent, options, ledger);
  const { result, record } = await durably(harness, parts, options, (client) => client.start(agent, startOptions(harness, options)));
  const fields: RunResultFields<unknown> = { ...result.toJSON(), steps: [...record.steps] };
  return { ...record, result: new RunResult(fields), ledger };
}

/** Runs a program on a server with everything that the test plans. */
export async function runProgramDurably(program: AnyProgram, options: ProgramTestOptions & ServerOptions): Promise<TestedProgram<unknown>> {
  const harness = new Harness(program, options);
  const ledger = options.ledger ?? effectsLedger();
  const parts = programParts(harness, program, options, ledger);
  const { result, record } = await durably(harness, parts, options, async (client) => {
    const { runId } = await client.startProgram(program.name, { ...programStart(options), runId: harness.runId });
    return client.handle<unknown>(runId);
  });
  const { steps: _, ...rest } = record;
  const trace = traceOf(program.document, rest.events);
  return { ...rest, result: new ProgramResult<unknown>(result.toJSON()), trace, ledger };
}

type DurableOptions = ServerOptions & Pick<DurableTestOptions, 'decide' | 'timeout' | 'model'>;

/** Starts a run on a server with a worker of its own, and returns its result and record. */
async function durably(
  harness: Harness,
  parts: WorkerParts,
  options: DurableOptions,
  start: (client: LonghaulClient) => Promise<RunHandle<unknown>>,
): Promise<{ result: RunResult<unknown>; record: TestedRecord }> {
  // Many tests are about failing attempts, so only errors are logged. A process that has already configured its log
  // keeps that.
  installLog({}, { level: 'ERROR', format: 'text' });
  const cleanUp = new CleanUp();
  try {
    const server = await serverFor(options);
    cleanUp.add(() => server.stop());
    const { address, namespace } = server;
    const taskQueue = `test-${randomUUID()}`;
    const client = await connect({ address, namespace, taskQueue });
    cleanUp.add(() => client.close());
    const workers = await DurableWorkers.start(await workerOptions(harness, { address, namespace, taskQueue, parts, options }));
    cleanUp.add(() => workers.stop());
    cleanUp.add(async () => harness.end());
    harness.worker = workers;
    const run = await start(client);
    cleanUp.add(() => terminate(client, run));
    const result = await withinTime(options.timeout ?? '60s', [
      resultWithDecisions(harness, client, run, options),
      workers.failure,
      harness.failure,
    ]);
    const record = await recordOf(harness, client, run);
    assertPlanCarriedOut(harness, options.model, result);
    return { result, record };
  } finally {
    await cleanUp.run();
  }
}

function startOptions({ runId }: Harness, options: DurableTestOptions): StartOptions {
  const { deps, state, principal, limits, deadline, settings, tags } = options;
  return {
    ...openingOf(options),
    runId,
    ...(deps === undefined ? {} : { deps }),
    ...(state === undefined ? {} : { state }),
    ...(principal === undefined ? {} : { principal }),
    ...(limits === undefined ? {} : { limits }),
    ...(deadline === undefined ? {} : { deadline }),
    ...(settings === undefined ? {} : { settings }),
    ...(tags === undefined ? {} : { tags }),
  };
}

/** Returns the result of the run, making the test's decisions until it ends. */
async function resultWithDecisions(
  harness: Harness,
  client: LonghaulClient,
  run: RunHandle<unknown>,
  { decide }: DurableOptions,
): Promise<RunResult<unknown>> {
  const access = durableAccess(run);
  harness.run = access;
  const over = new AbortController();
  const undecided = async (pending: readonly ApprovalView[]): Promise<never> => {
    throw new UndecidedRun(pending, await recordOf(harness, client, run));
  };
  const driving = driveApprovals(run, new ApprovalDriver(harness, access, decide), {
    signal: over.signal,
    child: (runId) => client.handle<unknown>(runId),
    undecided,
  });
  driving.catch((error: unknown) => harness.fail(error));
  try {
    return await run.result();
  } finally {
    harness.end();
    over.abort();
    await driving.catch(() => undefined);
  }
}

/** Reads the record from the run itself, while its worker is running. */
async function recordOf({ requests }: Harness, client: LonghaulClient, run: RunHandle<unknown>): Promise<TestedRecord> {
  const events: Event[] = [];
  for await (const event of run.events()) events.push(event);
  const data = await queryRun<DataView>(client.temporal, run.runId, QUERIES.data);
  if (data === undefined) throw new Error(`No worker answered for run "${run.runId}"`);
  return { events, steps: await run.steps(), ...data, requests };
}

/** Terminates the run, unless it has ended. */
async function terminate(client: LonghaulClient, { runId }: RunHandle<unknown>): Promise<void> {
  await client.temporal.workflow
    .getHandle(runId)
    .terminate('the test has ended')
    .catch(() => undefined);
}

/** Returns the server that the test names, else that of the environment, else a new one. */
async function serverFor({ address, namespace }: ServerOptions): Promise<Pick<DevServer, 'address' | 'namespace' | 'stop'>> {
  if (address !== undefined) return { address, namespace: namespace ?? 'default', stop: async () => undefined };
  const server = await startDevServer();
  return namespace === undefined ? server : { ...server, namespace };
}

/** The clean-up steps at the end of a test, run in reverse order. */
class CleanUp {
  readonly #todo: (() => Promise<unknown>)[] = [];

  add(end: () => Promise<unknown>): void {
    this.#todo.push(end);
  }

  /** Runs all steps even if some fail, then rejects with the first error. */
  async run(): Promise<void> {
    const problems: unknown[] = [];
    for (const end of this.#todo.toReversed()) await end().catch((error: unknown) => problems.push(error));
    if (problems.length > 0) throw problems[0];
  }
}
