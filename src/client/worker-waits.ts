import type { Client, WorkflowExecutionDescription } from '@temporalio/client';
import { optionalTsToDate } from '@temporalio/common/lib/time.js';
import { defined } from '../core/domain/json.ts';
import { counted } from '../core/domain/text.ts';
import type { WaitForWorker } from '../core/domain/views.ts';

/** A worker takes a task within milliseconds: a task that is older waits for something. */
const TAKEN_WITHIN_MS = 5_000;

/** A worker that has nothing to do asks again after at most a minute. */
const POLLS_WITHIN_MS = 70_000;

/** The server's states: `PENDING_WORKFLOW_TASK_STATE_SCHEDULED`, `PENDING_ACTIVITY_STATE_SCHEDULED`. */
const SCHEDULED = 1;

/** Temporal's enum values of the kinds of task queues. */
const QUEUE_TYPES = { workflow: 1, activity: 2 } as const;

/** A workflow task that fails is tried again, for ever: the first failures may be a worker that ends. */
const FAILS_SINCE_ATTEMPT = 3;

/** The task that an execution waits for. */
export interface WaitingTask {
  kind: keyof typeof QUEUE_TYPES;
  taskQueue: string;
  /** The activity; absent for a workflow task. */
  activity?: string;
  since: Date;
  /** The attempts of a workflow task that fails. */
  failing?: number;
  /** The build that the task needs, if its run is pinned to one. */
  build?: string;
}

type Described = Pick<WorkflowExecutionDescription, 'raw' | 'taskQueue' | 'status'>;

/** Returns the task of an open execution that has waited longest, if it has waited for seconds. The description alone says so. */
export function waitingTask({ raw, taskQueue, status }: Described, now = Date.now()): WaitingTask | undefined {
  if (status.name !== 'RUNNING') return undefined;
  const { pendingWorkflowTask: task, pendingActivities, workflowExecutionInfo: info } = raw;
  const pinned = info?.versioningInfo?.behavior === PINNED ? info.versioningInfo.deploymentVersion?.buildId : undefined;
  const found: WaitingTask[] = [];
  const began = optionalTsToDate(task?.originalScheduledTime ?? task?.scheduledTime);
  const failing = task && (task.attempt ?? 0) >= FAILS_SINCE_ATTEMPT ? (task.attempt ?? undefined) : undefined;
  if (began !== undefined && (task?.state === SCHEDULED || failing !== undefined))
    found.push({ kind: 'workflow', taskQueue, since: began, ...defined({ failing, build: pinned ?? undefined }) });
  for (const { state, scheduledTime, activityType, activityOptions } of pendingActivities ?? []) {
    const since = optionalTsToDate(scheduledTime);
    // The time of an activity that is to be tried again is that of its next attempt.
    if (state !== SCHEDULED || since === undefined) continue;
    found.push({ kind: 'activity', taskQueue: activityOptions?.taskQueue?.name || taskQueue, activity: activityType?.name ?? '', since });
  }
  return found.filter(({ since }) => now - since.getTime() >= TAKEN_WITHIN_MS).toSorted((one, other) => +one.since - +other.since)[0];
}

/** `VERSIONING_BEHAVIOR_PINNED`. */
const PINNED = 1;

/** A task queue of the server, as far as it says who polls it. */
export interface PolledQueue {
  /** The workers that have asked for tasks within the last minute, each with its build if it is tied to one. */
  workers: { build?: string; deployment?: string; polledAt: Date }[];
  /** The build that new runs get; absent if none is current. */
  currentBuild?: string;
  backlog?: { tasks: number; oldestSeconds: number };
}

/** Asks the server who polls a task queue. Undefined if it does not say. */
export async function polledQueue(
  client: Pick<Client, 'workflowService' | 'options'>,
  task: Pick<WaitingTask, 'kind' | 'taskQueue'>,
): Promise<PolledQueue | undefined> {
  const { namespace } = client.options;
  const request = { namespace, taskQueue: { name: task.taskQueue }, taskQueueType: QUEUE_TYPES[task.kind], reportStats: true };
  const answer = await client.workflowService.describeTaskQueue(request).catch(() => undefined);
  if (answer === undefined) return undefined;
  const { pollers, versioningInfo, stats } = answer;
  const workers = (pollers ?? []).flatMap(({ lastAccessTime, deploymentOptions }) => {
    const polledAt = optionalTsToDate(lastAccessTime);
    if (polledAt === undefined || Date.now() - polledAt.getTime() > POLLS_WITHIN_MS) return [];
    return [
      {
        polledAt,
        ...defined({ build: deploymentOptions?.buildId || undefined, deployment: deploymentOptions?.deploymentName || undefined }),
      },
    ];
  });
  const currentBuild = versioningInfo?.currentDeploymentVersion?.buildId || undefined;
  const backlog = stats
    ? { tasks: Number(stats.approximateBacklogCount ?? 0), oldestSeconds: Number(stats.approximateBacklogAge?.seconds ?? 0) }
    : undefined;
  return { workers, ...defined({ currentBuild, backlog }) };
}

/** Says why nobody has taken a task. */
export function workerWait(task: WaitingTask, { workers, currentBuild, backlog }: PolledQueue): WaitForWorker {
  const { taskQueue, activity, since, failing, build = currentBuild } = task;
  const builds = [...new Set(workers.map((one) => one.build ?? ''))].filter((one) => one !== '').toSorted();
  const polledAt = workers.map((one) => one.polledAt).toSorted((one, other) => +other - +one)[0];
  const isTiedToBuilds = builds.length > 0 && workers.every((one) => one.build !== undefined);
  const lacksBuild = isTiedToBuilds && (build === undefined || !builds.includes(build));
  const why = workers.length === 0 ? 'no_worker' : failing !== undefined ? 'failing' : lacksBuild ? 'no_build' : 'busy';
  return {
    why,
    taskQueue,
    since: since.toISOString(),
    workers: workers.length,
    ...defined({
      activity,
      attempts: failing,
      builds: builds.length === 0 ? undefined : builds,
      build,
      lastPollAt: polledAt?.toISOString(),
    }),
    ...(backlog === undefined || backlog.tasks === 0 ? {} : { backlog: backlog.tasks }),
  };
}

/** Returns what an open execution waits for if no worker takes its tasks. Asks the server only if a task has waited for seconds. Never rejects. */
export async function waitForWorker(client: Client, task: WaitingTask | undefined): Promise<WaitForWorker | undefined> {
  if (task === undefined) return undefined;
  const queue = await polledQueue(client, task);
  return queue === undefined ? undefined : workerWait(task, queue);
}

/** Returns the sentence about a wait, with what to do. */
export function workerWaitText(wait: WaitForWorker): string {
  const { why, taskQueue, since, workers, activity, builds = [], build, attempts = 0, lastPollAt, backlog = 0 } = wait;
  const task = activity === undefined ? 'a worker' : `a worker for ${activity}`;
  const waits = `for ${task} since ${since}`;
  switch (why) {
    case 'no_worker':
      return `${waits}: no worker polls task queue "${taskQueue}". The run is safe, and continues as soon as one does`;
    case 'no_build': {
      const has = `${counted(workers, 'worker')} of task queue "${taskQueue}" ${workers === 1 ? 'has' : 'have'} ${builds.map((one) => `build "${one}"`).join(', ')}`;
      return build === undefined
        ? `${waits}: ${has}, and none is current. "longhaul doctor" prints the command that makes one current`
        : `${waits}: ${has}, and the run needs build "${build}". Start a worker with it`;
    }
    case 'failing':
      return `${waits}: its workflow task has failed ${attempts - 1} times, and is tried again. The Temporal UI has the failure, and "longhaul replay" tells if the code does not fit the history`;
    case 'busy':
      return `${waits}: ${counted(workers, 'worker')} polled task queue "${taskQueue}", the last at ${lastPollAt}, and ${backlog === 0 ? 'the task waits' : `${counted(backlog, 'task')} ${backlog === 1 ? 'waits' : 'wait'}`}. They are busy, or have ended since: start more`;
  }
}
