import { Client, Connection } from '@temporalio/client';
import { tsToMs } from '@temporalio/common/lib/time.js';
import proto from '@temporalio/proto';
import { loadavg } from 'node:os';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { bundleToFile } from '../../processes/workflow-bundle.ts';
import { LonghaulClient } from '../../../src/client/index.ts';
import { CALL_RETRY } from '../../../src/temporal/server-connection.ts';
import { atOnce } from '../../processes/at-once.ts';
import { ProgramProcess } from '../../processes/program-process.ts';
import { type Timings, timings } from '../../processes/timings.ts';
import { CrashServer, findCli } from '../../processes/crash-server.ts';
import { seeded } from '../runs/random-kills.ts';
import { RECOVERING, ROUNDS } from './recovering-agent.ts';
import { type Cause, CAUSES, causeOf, type OpenRun, type RecoveredRun, WaitLog } from './waits.ts';
import type { RecoveringWorkerReply, RecoveringWorkerSetting } from './worker-process.ts';

const PROGRAM = fileURLToPath(new URL('worker-process.ts', import.meta.url));

const TASK_QUEUE = 'recovery';

/** Milliseconds between two looks at a run, and the number of runs that are looked at at a time. */
const LOOK_EVERY_MS = 500;
const LOOKS_AT_ONCE = 10;

/** Milliseconds after which a run that has not ended is stuck. */
const PATIENCE_MS = 600_000;

/** The options of the measurement. */
export interface RecoveryOptions {
  runs: number;
  workers: number;
  kills: number;
  /** The time for starting the runs and killing the workers, in milliseconds. */
  ms: number;
  seed: number;
}

/** The figures, and the problems of the runs. Times are in seconds after the last kill. */
export interface Recovery {
  problems: string[];
  figures: {
    runs: number;
    kills: number;
    openAtLastKill: number;
    /** The load of the machine at the last kill, and at the end. */
    load: number[];
    /** The time when a run no longer waited for anything that a dead worker had. */
    back: Timings | null;
    ended: Timings | null;
    /** The runs that waited for a cause, and how long they did. */
    waits: Partial<Record<Cause, { runs: number } & Timings>>;
    calls: { timedOut: number };
    tasks: { timedOut: number };
  };
}

/** A worker in a separate process. */
class RecoveringWorker extends ProgramProcess<never, RecoveringWorkerReply> {
  identity: string | undefined;

  constructor(setting: RecoveringWorkerSetting) {
    super(PROGRAM, setting);
    this.listen('ready', ({ identity }) => (this.identity = identity));
  }

  override async kill(): Promise<void> {
    this.identity = undefined;
    await super.kill();
  }
}

/**
 * Kills workers repeatedly while runs are in progress, and measures what the runs wait for after the last kill. The workers have the
 * defaults of the product.
 */
export async function measureRecovery(options: RecoveryOptions, say: (line: string) => void): Promise<Recovery> {
  const server = await CrashServer.start(await findCli(say));
  const { address, namespace } = server;
  const bundle = await bundleToFile();
  const connection = await Connection.connect({ address, interceptors: CALL_RETRY });
  const setting = { address, namespace, taskQueue: TASK_QUEUE, bundlePath: bundle.path };
  const workers = Array.from({ length: options.workers }, () => new RecoveringWorker(setting));
  try {
    await Promise.all(workers.map((worker) => worker.start()));
    const client = new LonghaulClient(new Client({ connection, namespace }), { taskQueue: TASK_QUEUE });
    const random = seeded(options.seed);
    const [runIds, killedMs] = await Promise.all([startRuns(client, options), killWorkers(workers, options, random)]);
    const load = loadavg()[0] ?? 0;
    say(`the last of ${options.kills} kills is done, at a load of ${load.toFixed(1)}`);
    const recovered = await watch(client.temporal, { runIds, killedMs, workers, say });
    const lost = await Promise.all(runIds.map((runId) => timedOut(client.temporal, runId)));
    const sum = (of: 'calls' | 'tasks'): number => lost.reduce((total, one) => total + one[of], 0);
    return {
      problems: await problemsOf(client, runIds),
      figures: {
        runs: options.runs,
        kills: options.kills,
        openAtLastKill: recovered.length,
        load: [load, loadavg()[0] ?? 0].map((one) => Math.round(one * 10) / 10),
        ...figuresOf(recovered),
        calls: { timedOut: sum('calls') },
        tasks: { timedOut: sum('tasks') },
      },
    };
  } finally {
    await Promise.all(workers.map((worker) => worker.stop()));
    await connection.close();
    await bundle.remove();
    await server.stop();
  }
}

/** Starts the runs sequentially, evenly over the time. */
async function startRuns(client: LonghaulClient, { runs, ms }: RecoveryOptions): Promise<string[]> {
  const started: string[] = [];
  for (let number = 1; number <= runs; number += 1) {
    const { runId } = await client.start(RECOVERING, { input: `Parcel ${number}`, runId: `courier-${number}` });
    started.push(runId);
    await pause(ms / runs);
  }
  return started;
}

/** Kills workers that work, evenly over the time. Returns the time of the last kill. */
async function killWorkers(workers: readonly RecoveringWorker[], { kills, ms }: RecoveryOptions, random: () => number): Promise<number> {
  const begunMs = Date.now();
  let killedMs = begunMs;
  for (let number = 1; number <= kills; number += 1) {
    await pause(Math.max(0, begunMs + (number * ms) / kills - Date.now()));
    let working = workers.filter(({ identity }) => identity !== undefined);
    while (working.length === 0) {
      await pause(50);
      working = workers.filter(({ identity }) => identity !== undefined);
    }
    killedMs = Date.now();
    await working[Math.floor(random() * working.length)]?.kill();
  }
  return killedMs;
}

interface Watched {
  runIds: readonly string[];
  killedMs: number;
  workers: readonly RecoveringWorker[];
  say: (line: string) => void;
}

/** Looks at all runs that are open, until none is. */
async function watch(client: Client, { runIds, killedMs, workers, say }: Watched): Promise<RecoveredRun[]> {
  const logs = new Map(runIds.map((runId) => [runId, new WaitLog(killedMs)]));
  const recovered: RecoveredRun[] = [];
  let isFirst = true;
  while (logs.size > 0) {
    if (Date.now() - killedMs > PATIENCE_MS) throw new Error(`${logs.size} runs did not end: ${[...logs.keys()].join(', ')}`);
    await atOnce([...logs], LOOKS_AT_ONCE, async ([runId, log]) => {
      const run = await lookAt(client, runId);
      if (run === undefined) {
        logs.delete(runId);
        if (!isFirst) recovered.push(log.ended(Date.now()));
        return;
      }
      const living = new Set(workers.flatMap(({ identity }) => identity ?? []));
      log.add(run.atMs, causeOf(run, { living, killedMs }));
    });
    if (isFirst) say(`${logs.size} runs are open`);
    isFirst = false;
    await pause(LOOK_EVERY_MS);
  }
  return recovered;
}

/** Returns what the server knows about a run; undefined once it has ended. */
async function lookAt(client: Client, runId: string): Promise<OpenRun | undefined> {
  const { raw, status } = await client.workflow.getHandle(runId).describe();
  if (status.name !== 'RUNNING') return undefined;
  const calls = (raw.pendingActivities ?? []).map(({ state, lastWorkerIdentity, scheduledTime }) => ({
    isStarted: state !== proto.temporal.api.enums.v1.PendingActivityState.PENDING_ACTIVITY_STATE_SCHEDULED,
    identity: lastWorkerIdentity ?? '',
    dueMs: tsToMs(scheduledTime),
  }));
  const { pendingWorkflowTask: task } = raw;
  const atMs = Date.now();
  if (!task) return { atMs, calls };
  const isStarted = task.state === proto.temporal.api.enums.v1.PendingWorkflowTaskState.PENDING_WORKFLOW_TASK_STATE_STARTED;
  const isSticky = !isStarted && (task.attempt ?? 1) === 1 && (await isOfOneWorker(client, runId));
  return { atMs, calls, task: { isStarted, startedMs: task.startedTime ? tsToMs(task.startedTime) : 0, isSticky } };
}

/** True if the newest task of a run is in the queue of one worker. */
async function isOfOneWorker(client: Client, runId: string): Promise<boolean> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId: runId },
    maximumPageSize: 3,
  });
  const scheduled = history?.events?.find((event) => event.workflowTaskScheduledEventAttributes);
  const kind = scheduled?.workflowTaskScheduledEventAttributes?.taskQueue?.kind;
  return kind === proto.temporal.api.enums.v1.TaskQueueKind.TASK_QUEUE_KIND_STICKY;
}

/** The attempts of calls, and the workflow tasks, that the history of a run names as lost. */
async function timedOut(client: Client, runId: string): Promise<{ calls: number; tasks: number }> {
  const { events } = await client.workflow.getHandle(runId).fetchHistory();
  const lost = { calls: 0, tasks: 0 };
  for (const { activityTaskStartedEventAttributes: call, workflowTaskTimedOutEventAttributes: task } of events ?? []) {
    lost.calls += (call?.attempt ?? 1) - 1;
    if (task) lost.tasks += 1;
  }
  return lost;
}

async function problemsOf(client: LonghaulClient, runIds: readonly string[]): Promise<string[]> {
  const results = await Promise.all(runIds.map((runId) => client.handle(runId).result()));
  const expected = `answer ${ROUNDS}`;
  return results.flatMap(({ runId, status, output }) =>
    status === 'completed' && output === expected ? [] : [`${runId} has ended with ${status} and ${JSON.stringify(output)}`],
  );
}

function figuresOf(recovered: readonly RecoveredRun[]): Pick<Recovery['figures'], 'back' | 'ended' | 'waits'> {
  const seconds = (values: readonly number[]): Timings | null => timings(values.map((ms) => ms / 1_000));
  const waits = CAUSES.map((cause) => {
    const values = recovered.flatMap((run) => run.waits[cause] ?? []);
    const figures = seconds(values);
    return figures === null ? undefined : ([cause, { runs: values.length, ...figures }] as const);
  });
  return {
    back: seconds(recovered.map(({ backMs }) => backMs)),
    ended: seconds(recovered.map(({ endedMs }) => endedMs)),
    waits: Object.fromEntries(waits.filter((entry) => entry !== undefined)),
  };
}
