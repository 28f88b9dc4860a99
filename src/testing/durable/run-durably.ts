import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { WorkflowClientInterceptor } from '@temporalio/client';
import {
  bundleWorkflowCode,
  DefaultLogger,
  type WorkerInterceptors,
  type WorkflowBundle,
  type WorkflowBundleOption,
} from '@temporalio/worker';
import { RUNS_MODULE } from '../../../worker/bundle-workflows.ts';
import { installLog } from '../../../worker/install-log.ts';
import { packagedBundle } from '../../../worker/packaged-bundle.ts';
import { LonghaulPlugin } from '../../../worker/plugin.ts';
import { connect, type LonghaulClient } from '../../client/longhaul-client.ts';
import { type RunHandle, sendDecision } from '../../client/run-handle.ts';
import type { ProgramOptions, StartOptions } from '../../client/start-workflow.ts';
import type { ApprovalView } from '../../core/domain/approvals.ts';
import { defined } from '../../core/domain/json.ts';
import type { Event } from '../../core/domain/record.ts';
import type { RunOpening } from '../../core/domain/run-input.ts';
import type { ExecutionTrace } from '../../core/domain/trace.ts';
import { ProgramResult, RunResult, type RunResultFields } from '../../core/domain/result.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import { type DevServer, startDevServer } from '../../dev-server/dev-server.ts';
import {
  type DurableTestOptions,
  effectsLedger,
  type ProgramTestOptions,
  type ServerOptions,
  type TestedProgram,
  type TestedRecord,
  type TestedRun,
  UndecidedRun,
} from '../tested-run.ts';
import { ApprovalDriver, assertPlanCarriedOut, Harness, harnessActivities, type RunAccess, withinTime } from '../harness/harness.ts';
import { checkTest } from '../harness/test-options.ts';
import { programParts, programStart, type WorkerParts, workerParts } from '../harness/worker-parts.ts';
import { DurableWorkers, type DurableWorkersOptions } from './durable-workers.ts';
import { quietTree } from './quiet-tree.ts';

/** Runs an agent on a server with everything that the test plans. */
export async function runDurably(agent: AnyAgent, options: DurableTestOptions): Promise<TestedRun<unknown>> {
  checkTest('durableTest', agent, options);
  const harness = new Harness(agent, options);
  const ledger = options.ledger ?? effectsLedger();
  const parts = workerParts(harness, agent, options, ledger);
  const { result, record, trace } = await durably(harness, parts, options, (client) => client.start(agent, startOptions(harness, options)));
  const fields: RunResultFields<unknown> = { ...result.toJSON(), steps: [...record.steps] };
  return { ...record, result: new RunResult(fields), trace, ledger };
}

/** Runs a program on a server with everything that the test plans. */
export async function runProgramDurably(program: AnyProgram, options: ProgramTestOptions & ServerOptions): Promise<TestedProgram<unknown>> {
  checkTest('durableTest', program, options);
  const harness = new Harness(program, options);
  const ledger = options.ledger ?? effectsLedger();
  const parts = programParts(harness, program, options, ledger);
  const { result, record, trace } = await durably(harness, parts, options, async (client) => {
    const start = { ...programStart(options), runId: harness.runId } as ProgramOptions<never>;
    const { runId } = await client.startProgram(program, start);
    return client.handle<unknown>(runId);
  });
  const { steps: _, ...rest } = record;
  return { ...rest, result: new ProgramResult<unknown>(result.toJSON()), trace, ledger };
}

type DurableOptions = ServerOptions & Pick<DurableTestOptions, 'decide' | 'timeout' | 'model'>;

/** Starts a run on a server with a separate worker, and returns its result and record. */
async function durably(
  harness: Harness,
  parts: WorkerParts,
  options: DurableOptions,
  start: (client: LonghaulClient) => Promise<RunHandle<unknown>>,
): Promise<{ result: RunResult<unknown>; record: TestedRecord; trace: ExecutionTrace }> {
  // Many tests are about failing attempts, so only errors are logged. A process that has already configured its log
  // keeps that.
  installLog({}, { otherwise: { level: 'ERROR', format: 'text' } });
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
    const record = await recordOf(harness, run);
    const trace = await run.trace();
    assertPlanCarriedOut(harness, options.model, result);
    return { result, record, trace };
  } finally {
    await cleanUp.run();
  }
}

function startOptions({ runId }: Harness, options: DurableTestOptions): StartOptions {
  const { input, messages, deps, state, principal, limits, deadline, settings, tags } = options;
  const opening = defined({ input, messages }) as RunOpening;
  return { ...opening, runId, ...defined({ deps, state, principal, limits, deadline, settings, tags }) };
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
    throw new UndecidedRun(pending, await recordOf(harness, run));
  };
  const driving = driveApprovals(client, run, new ApprovalDriver(harness, access, decide), { signal: over.signal, undecided });
  driving.catch((error: unknown) => harness.fail(error));
  try {
    return await run.result();
  } finally {
    harness.end();
    over.abort();
    await driving.catch(() => undefined);
  }
}

/** Reads the record of the run, from its history if its worker does not answer in time. */
async function recordOf({ requests }: Harness, run: RunHandle<unknown>): Promise<TestedRecord> {
  const events: Event[] = [];
  for await (const event of run.events()) events.push(event);
  const { deps, state } = await run.context({ from: events.length });
  return { events, steps: await run.steps(), deps, state, requests };
}

/** Terminates the run, unless it has ended. */
async function terminate(client: LonghaulClient, { runId }: RunHandle<unknown>): Promise<void> {
  await client.temporal.workflow
    .getHandle(runId)
    .terminate('the test has ended')
    .catch(() => undefined);
}

/** Returns the test's server: the one it names, or the environment's, or a new one. */
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

/** Returns the access of a test to a run on a server: like any other client. */
function durableAccess(run: RunHandle<unknown>): RunAccess {
  return {
    act: (occurrence, id) => occurrence.onServer(run, id),
    decide: (id, waiting, decision) => sendDecision(run, waiting, decision, { id, ...defined({ by: decision.by }) }),
  };
}

/** The server, task queue and parts of a test's worker. */
interface TestWorkerSettings {
  address: string;
  namespace: string;
  taskQueue: string;
  parts: WorkerParts;
  options: Pick<DurableTestOptions, 'heartbeatEvery' | 'worker'>;
}

/** The time between two heartbeats if a test loses calls: a call is lost after three missed ones. */
const HEARTBEAT_EVERY = '1s';

/** The time that a workflow task waits on the own queue of a killed worker, in milliseconds. */
const STICKY_MS = 500;

const GRACE_MS = 500;

/** Returns the options of a test's workers. */
export async function workerOptions(harness: Harness, { options, parts, ...target }: TestWorkerSettings): Promise<DurableWorkersOptions> {
  const { plan } = harness;
  const hasWorkerFaults = plan.of('kill_worker').length + plan.of('disconnect').length > 0;
  const losesCompletions = hasWorkerFaults || plan.of('drop_completion').length > 0;
  const heartbeatEvery = options.heartbeatEvery ?? (losesCompletions ? HEARTBEAT_EVERY : undefined);
  const { interceptors, ...worker } = options.worker ?? {};
  return {
    hasWorkerFaults,
    worker: {
      ...parts,
      ...target,
      // A worker that caches no conversation queries the run before each model call.
      ...(plan.of('slow_queries').length > 0 ? { transcriptCacheSize: 1 } : {}),
      // A process that dies grants no time for shutdown.
      shutdownGrace: hasWorkerFaults ? 0 : GRACE_MS,
      ...defined({ heartbeatEvery }),
      worker: {
        ...(hasWorkerFaults ? { stickyQueueScheduleToStartTimeout: STICKY_MS } : {}),
        ...(worker.workflowBundle === undefined ? { workflowBundle: await workflowBundle() } : {}),
        ...worker,
        interceptors: {
          ...interceptors,
          activity: [harnessActivities(harness), ...(interceptors?.activity ?? [])],
          ...slowQueries(harness, interceptors?.client),
        },
      },
    },
  };
}

/** Returns the interceptors for the client that activities use to query their run. */
function slowQueries({ plan }: Harness, own: WorkerInterceptors['client'] = {}): Pick<WorkerInterceptors, 'client'> {
  const faults = plan.of('slow_queries');
  if (faults.length === 0) return { client: own };
  const slow: WorkflowClientInterceptor = {
    query: async (input, next) => {
      for (const fault of faults) {
        plan.happened(fault);
        await sleep(fault.ms);
      }
      return next(input);
    },
  };
  const workflow = Array.isArray(own.workflow) ? own.workflow : [];
  return { client: { ...own, workflow: [...workflow, slow] } };
}

let bundled: Promise<WorkflowBundle> | undefined;

/** Returns the workflow bundle: the package's, or one that is built once per process, which takes seconds. */
async function workflowBundle(): Promise<WorkflowBundleOption> {
  const packaged = packagedBundle({});
  if (packaged !== undefined) return packaged;
  bundled ??= bundleWorkflowCode({
    workflowsPath: RUNS_MODULE,
    plugins: [new LonghaulPlugin({ agents: [], providers: {} })],
    logger: new DefaultLogger('ERROR'),
  });
  return bundled;
}

/** The interval between two checks of a run, in milliseconds: short after an event, longer when nothing happens. */
const SHORTEST_INTERVAL_MS = 15;
const LONGEST_INTERVAL_MS = 250;

/** How driving the approvals of a run ends. */
interface DrivingEnd {
  signal: AbortSignal;
  /** Called if the run waits for a decision that the test does not make. Always rejects. */
  undecided: (pending: readonly ApprovalView[]) => Promise<never>;
}

/** Makes the test's decisions in a run on a server, and in its children, until the signal is aborted. */
async function driveApprovals(
  client: LonghaulClient,
  run: RunHandle<unknown>,
  driver: ApprovalDriver,
  { signal, undecided }: DrivingEnd,
): Promise<void> {
  let intervalMs = SHORTEST_INTERVAL_MS;
  let seen = '';
  while (!signal.aborted) {
    const { pending = [], positions = new Map<string, string>() } = (await quietTree(client.temporal, run.runId)) ?? {};
    const before = seen;
    seen = [...positions].join();
    // A signal between a run and a child may be under way: both must be quiet for longer.
    const isQuiet = pending.length > 0 && (positions.size === 1 || seen === before);
    if (isQuiet && (await driver.decideNext(pending))) intervalMs = SHORTEST_INTERVAL_MS;
    else if (isQuiet && pending.every(({ deadlineAt }) => deadlineAt === undefined)) await requireDeadline(run, () => undecided(pending));
    await sleep(intervalMs);
    intervalMs = Math.min(intervalMs * 1.5, LONGEST_INTERVAL_MS);
  }
}

/** Rejects unless the run has a deadline, which would also end the wait. */
async function requireDeadline(run: RunHandle<unknown>, undecided: () => Promise<never>): Promise<void> {
  const { limits, status } = await run.status();
  if (status === 'pending_confirmation' && (limits?.deadlineMs === undefined || limits.onLimit === 'ask')) await undecided();
}
