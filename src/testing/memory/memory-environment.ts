import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter, type Payload } from '@temporalio/common';
import { DefaultLogger } from '@temporalio/worker';
import type { RuntimeOptions } from '../../../activities/create-runtime.ts';
import { programInput, runInput } from '../../client/start-workflow.ts';
import { checkUpdate } from '../../client/update-checks.ts';
import { agentTrace, type AgentTraceHeader } from '../../core/domain/agent-trace.ts';
import { type ErrorCode, LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { ProgramResult, RunResult, type RunResultFields } from '../../core/domain/result.ts';
import type { FirstStart } from '../../core/first-start.ts';
import { refuseUpdate, takeUpdate } from '../../core/handlers/requests.ts';
import { approvalViews, type QueriedRun, runSubject } from '../../core/queries/run-views.ts';
import { traceOf } from '../../core/program/trace.ts';
import { QUERIES, type UPDATES } from '../../core/protocol.ts';
import { answerQuery } from '../../core/queries/queries.ts';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { AnyProgram } from '../../define/program/program-definition.ts';
import { chosenLog, logWriter } from '../../log/log-writer.ts';
import { checkRunId } from '../../temporal/run-workflow.ts';
import { ApprovalDriver, assertPlanCarriedOut, Harness, harnessActivities, type RunAccess, withinTime } from '../harness/harness.ts';
import { checkTest } from '../harness/test-options.ts';
import { programParts, programStart, workerParts } from '../harness/worker-parts.ts';
import { type Decide, faultText } from '../test-plan.ts';
import {
  effectsLedger,
  type ProgramTestOptions,
  type TestedProgram,
  type TestedRecord,
  type TestedRun,
  type TestOptions,
  UndecidedRun,
} from '../tested-run.ts';
import { MemoryRun } from './memory-run.ts';
import { type ActivityHost, MemoryActivities, MemoryWorker, roundTrip } from './memory-worker.ts';
import { VirtualTime } from './virtual-time.ts';
import { realSleep, realTurn } from '../../temporal/real-timers.ts';

/** Runs an agent in memory with everything that the test plans. */
export async function runInMemory(agent: AnyAgent, options: TestOptions): Promise<TestedRun<unknown>> {
  checkTest('testAgent', agent, options);
  const { model: _, ...start } = options;
  const input = runInput(agent, start);
  if (options.runId !== undefined) checkRunId(options.runId);
  const ledger = options.ledger ?? effectsLedger();
  const harness = new Harness(agent, options);
  const [cut] = harness.plan.of('disconnect');
  if (cut !== undefined) throw new UsageError(`${faultText(cut)}: a run in memory has no connection to a server: use durableTest`);
  const worker = workerParts(harness, agent, options, ledger);
  const environment = await MemoryEnvironment.open(harness, { start: { type: 'input', input }, worker, decide: options.decide });
  try {
    const fields = await withinTime(options.timeout ?? '30s', [environment.execute(), harness.failure]);
    const record = environment.record();
    const result = new RunResult<unknown>({ ...fields, steps: [...record.steps] });
    assertPlanCarriedOut(harness, options.model, fields);
    return { ...record, result, trace: agentTrace(environment.traceHeader(), record), ledger };
  } finally {
    await environment.close();
  }
}

/** Runs a program in memory with everything that the test plans. */
export async function runProgramInMemory(program: AnyProgram, options: ProgramTestOptions): Promise<TestedProgram<unknown>> {
  checkTest('testProgram', program, options);
  const input = programInput(program, programStart(options));
  if (options.runId !== undefined) checkRunId(options.runId);
  const ledger = options.ledger ?? effectsLedger();
  const harness = new Harness(program, options);
  const worker = programParts(harness, program, options, ledger);
  const environment = await MemoryEnvironment.open(harness, { start: { type: 'program', input }, worker, decide: options.decide });
  try {
    const fields = await withinTime(options.timeout ?? '30s', [environment.execute(), harness.failure]);
    const { steps: _, ...record } = environment.record();
    const result = new ProgramResult<unknown>(fields);
    assertPlanCarriedOut(harness, options.model, fields);
    return { ...record, result, trace: traceOf(program.document, record.events), ledger };
  } finally {
    await environment.close();
  }
}

const NAMESPACE = 'default';

/** The input, worker options and decisions of a test in memory. */
interface EnvironmentParts {
  start: FirstStart;
  worker: RuntimeOptions;
  decide: Decide | undefined;
}

/** A run in memory with its worker, its clock and the test's decisions. */
export class MemoryEnvironment {
  readonly run: MemoryRun;
  /** The run and the children that it has started, each with its activities. */
  readonly #runs = new Map<string, { run: MemoryRun; activities: MemoryActivities }>();
  readonly #harness: Harness;
  readonly #parts: EnvironmentParts;
  readonly #time: VirtualTime;
  readonly #driver: ApprovalDriver;
  readonly #killed: MemoryWorker[] = [];
  readonly #logger = testLogger();
  #worker: MemoryWorker;

  private constructor(harness: Harness, parts: EnvironmentParts, worker: MemoryWorker) {
    this.#harness = harness;
    this.#parts = parts;
    this.#worker = worker;
    this.#time = new VirtualTime({
      act: () => this.#decideNext(),
      stuck: () => harness.fail(new UndecidedRun(this.#pending(), structuredClone(this.record()))),
    });
    this.run = this.#add(harness.runId, parts.start);
    const own = memoryAccess(this.run, this.#time);
    const access: RunAccess = {
      ...own,
      decide: (id, waiting, decision) => {
        const { run } = this.#runs.get(waiting.runId ?? harness.runId) ?? this;
        return memoryAccess(run, this.#time).decide(id, waiting, decision);
      },
    };
    harness.run = access;
    harness.worker = { kill: () => this.#kill(), disconnect: () => undefined };
    const { decide = () => undefined } = parts;
    // The test's own code runs in real time: no deadline passes meanwhile.
    this.#driver = new ApprovalDriver(harness, access, (waiting) => this.#time.during((async () => decide(waiting))()));
  }

  /** Opens the environment with its worker. Throws the errors of a worker that cannot be created. */
  static async open(harness: Harness, parts: EnvironmentParts): Promise<MemoryEnvironment> {
    return new MemoryEnvironment(harness, parts, await MemoryWorker.open(parts.worker));
  }

  /** Runs until the run and all its activities have ended. */
  async execute(): Promise<RunResultFields> {
    const result = await this.run.execute();
    this.#harness.end();
    await Promise.all([...this.#runs.values()].map(({ activities }) => activities.settled()));
    return result;
  }

  /** Returns the record of the run so far. */
  record(): TestedRecord {
    const { state, deps } = this.run;
    const { requests } = this.#harness;
    if (state === undefined) return { events: [], steps: [], deps, state: {}, requests };
    return { events: state.context.events, steps: state.steps, deps: state.deps, state: state.context.state, requests };
  }

  /** Returns what the record does not say about the trace of the run. */
  traceHeader(): AgentTraceHeader {
    const { agentName, startedAt, state } = this.run;
    return { agentName, model: state?.snapshot.model ?? '', startTime: startedAt / 1000 };
  }

  /** Cancels everything that is running and closes the worker's resources. */
  async close(): Promise<void> {
    this.#harness.end();
    this.#time.end();
    this.run.cancel('the test has ended');
    await Promise.all([this.#worker, ...this.#killed].map((worker) => worker.close()));
  }

  #add(runId: string, start: FirstStart): MemoryRun {
    const activities = new MemoryActivities(this.#host(runId));
    const run = new MemoryRun(runId, start, { time: this.#time, activities, child: (id, ofChild) => this.#add(id, ofChild) });
    this.#runs.set(runId, { run, activities });
    return run;
  }

  #host(runId: string): ActivityHost {
    const slowMs = (): number => {
      const slow = this.#harness.plan.of('slow_queries');
      for (const fault of slow) this.#harness.plan.happened(fault);
      return slow.reduce((sum, { ms }) => sum + ms, 0);
    };
    const workflowExecution = { workflowId: runId, runId: randomUUID() };
    return {
      time: this.#time,
      worker: () => this.#worker,
      info: { workflowExecution, workflowNamespace: NAMESPACE, activityNamespace: NAMESPACE, namespace: NAMESPACE, taskQueue: 'memory' },
      environment: {
        client: memoryClient((queried) => this.#runs.get(queried)?.run ?? this.run, {
          slowMs,
          heartbeat: (token, details) => this.#runs.get(runId)?.activities.heartbeat(token, details) ?? { cancelRequested: true },
        }),
        logger: this.#logger,
        interceptors: [harnessActivities(this.#harness)],
      },
    };
  }

  /** Replaces the worker with a new one, which shares no memory with it. */
  async #kill(): Promise<never> {
    const next = MemoryWorker.open(this.#parts.worker);
    for (const { activities } of this.#runs.values()) activities.workerDied();
    this.#killed.push(this.#worker);
    this.#worker = await this.#time.during(next);
    return Promise.withResolvers<never>().promise;
  }

  #pending(): ReturnType<typeof approvalViews> {
    return [...this.#runs].flatMap(([runId, { run }]) => {
      const { state, agentName } = run;
      const views = state === undefined || run.result !== undefined ? [] : approvalViews(state);
      return run === this.run ? views : views.map((waiting) => ({ about: runSubject(agentName, state), ...waiting, runId }));
    });
  }

  async #decideNext(): Promise<boolean> {
    if ([...this.#runs.values()].some(({ activities }) => activities.isBusy)) return false;
    try {
      return await this.#driver.decideNext(this.#pending());
    } catch (error) {
      this.#harness.fail(error);
      return false;
    }
  }
}

/**
 * Returns the log of a run in memory, on stderr. It shows errors, such as the last failure of a tool with its stack.
 * Many tests are about failing attempts, so those are hidden; `LONGHAUL_LOG_LEVEL` shows them and everything that
 * tools log.
 */
function testLogger(): DefaultLogger {
  const choice = chosenLog({}, process.env, { level: 'ERROR', format: 'text' });
  return new DefaultLogger(
    choice.level === 'OFF' ? 'ERROR' : choice.level,
    logWriter(choice, (text) => process.stderr.write(`${text}\n`)),
  );
}

interface SentHeartbeat {
  taskToken: Uint8Array;
  details: { payloads: Payload[] | null };
}

/** The server's part of a run in memory. */
interface MemoryServer {
  /** Returns the delay of each answer. */
  slowMs: () => number;
  /** Stores the details of a heartbeat, for the token of an attempt. */
  heartbeat: (token: string, details: unknown) => { cancelRequested: boolean };
}

/** Returns the client that activities use to query their run or its parent, and to send heartbeats. */
export function memoryClient(run: (runId: string) => QueriedRun, { slowMs, heartbeat }: MemoryServer): Client {
  const query = async (runId: string, name: string, question: unknown): Promise<unknown> => {
    const delayMs = slowMs();
    if (delayMs > 0) await realSleep(delayMs);
    const known = Object.entries(QUERIES).find(([, one]) => one === name);
    if (known === undefined) throw new Error(`The run has no query "${name}"`);
    return roundTrip(answerQuery(run(runId), known[0] as keyof typeof QUERIES, roundTrip(question)));
  };
  const unbounded = (_: unknown, work: () => unknown): unknown => work();
  // These are the only parts of a client that activities use.
  const parts: object = {
    withDeadline: unbounded,
    withAbortSignal: unbounded,
    workflow: { getHandle: (runId: string) => ({ query: (name: string, question: unknown) => query(runId, name, question) }) },
    connection: {
      workflowService: {
        recordActivityTaskHeartbeat: async ({ taskToken, details }: SentHeartbeat) =>
          heartbeat(Buffer.from(taskToken).toString(), details.payloads?.map((payload) => defaultPayloadConverter.fromPayload(payload))[0]),
      },
    },
    options: {
      loadedDataConverter: { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] },
    },
  };
  return parts as Client;
}

/** The turns of the event loop that a run has to handle a request: to notice it, and for what it does then. */
const HANDLING_TURNS = 2;

/** Returns a test's access to a run in memory, which follows the rules of the workflow's handlers. */
function memoryAccess(run: MemoryRun, time: VirtualTime): RunAccess {
  const { runId } = run;
  const update = (name: keyof typeof UPDATES, input: object): void => {
    checkUpdate(name, runId, input);
    const sent = roundTrip(input);
    const refused = refuseUpdate(run, name, sent, time.now());
    if (refused !== undefined) throw new LonghaulError(refused.code, refused.message);
    takeUpdate(run, name, sent, time.now());
    run.received();
  };
  return {
    act: async (occurrence, id) => {
      occurrence.inMemory({ runId, update, cancel: (reason) => run.cancel(reason) }, id);
      // A server answers once the workflow has handled the request.
      for (let turns = 0; turns < HANDLING_TURNS; turns += 1) await realTurn();
    },
    decide: async (id, { callId, digest }, { type, ...content }) => {
      update(type, { id, callId, digest, ...defined(content) });
      if (run.snapshot?.authorize) await verdict(run, time, id);
    },
  };
}

/** Waits for the authorization of a decision, and throws if it is refused. */
async function verdict({ inbox }: MemoryRun, time: VirtualTime, id: string): Promise<void> {
  // A repeated decision may already be settled, as its receipt says.
  if (inbox.decisions.every((one) => one.id !== id)) return;
  inbox.verdicts.await(id);
  await time.until(() => inbox.closed || inbox.verdicts.on(id) !== undefined);
  const found = inbox.verdicts.on(id);
  inbox.verdicts.forget(id);
  if (found?.type === 'refused') throw new LonghaulError(found.code as ErrorCode, found.message);
}
