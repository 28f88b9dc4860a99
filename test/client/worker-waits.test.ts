import proto from '@temporalio/proto';
import { expect, test, vi } from 'vitest';
import { polledQueue, waitForWorker, type WaitingTask, waitingTask, workerWaitText } from '../../src/client/worker-waits.ts';

const { DescribeTaskQueueResponse } = proto.temporal.api.workflowservice.v1;
const NOW = Date.parse('2026-11-01T00:01:00Z');
const secondsAgo = (seconds: number): { seconds: number } => ({ seconds: NOW / 1_000 - seconds });

const SINCE = expect.any(Date) as Date;

type Described = Parameters<typeof waitingTask>[0];

/** A running execution, as the server describes it. */
function described(raw: object, status = 'RUNNING'): Described {
  const whole = proto.temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse.fromObject(raw);
  return { raw: whole, taskQueue: 'desks', status: { name: status } } as unknown as Described;
}

const SCHEDULED = 'PENDING_WORKFLOW_TASK_STATE_SCHEDULED';
const task = (seconds: number, more: object = {}): object => ({
  pendingWorkflowTask: { state: SCHEDULED, scheduledTime: secondsAgo(seconds), attempt: 1, ...more },
});
const activity = (seconds: number, more: object = {}): object => ({
  pendingActivities: [
    { state: 'PENDING_ACTIVITY_STATE_SCHEDULED', activityType: { name: 'callModel' }, scheduledTime: secondsAgo(seconds), ...more },
  ],
});

test.each<[name: string, described: Described, expected: object | undefined]>([
  ['a task that was scheduled a moment ago', described(task(1)), undefined],
  ['a task that a worker has', described(task(60, { state: 'PENDING_WORKFLOW_TASK_STATE_STARTED' })), undefined],
  ['a task of a run that has ended', described(task(60), 'TERMINATED'), undefined],
  ['no task', described({}), undefined],
  ['an activity that is tried again later', described(activity(-30)), undefined],
  ['an activity that a worker has', described(activity(60, { state: 'PENDING_ACTIVITY_STATE_STARTED' })), undefined],
  ['a task that nobody takes', described(task(20)), { kind: 'workflow', taskQueue: 'desks' }],
  ['an activity that nobody takes', described(activity(20)), { kind: 'activity', taskQueue: 'desks', activity: 'callModel' }],
  [
    'an activity of another task queue',
    described(activity(20, { activityOptions: { taskQueue: { name: 'gpus' } } })),
    { kind: 'activity', taskQueue: 'gpus', activity: 'callModel' },
  ],
  [
    'a task that fails again and again',
    described(task(2, { state: 'PENDING_WORKFLOW_TASK_STATE_STARTED', attempt: 7, originalScheduledTime: secondsAgo(90) })),
    { kind: 'workflow', taskQueue: 'desks', failing: 7 },
  ],
  [
    'a task of a run that is pinned to a build',
    described({
      ...task(20),
      workflowExecutionInfo: {
        versioningInfo: { behavior: 'VERSIONING_BEHAVIOR_PINNED', deploymentVersion: { deploymentName: 'shop', buildId: 'b1' } },
      },
    }),
    { kind: 'workflow', taskQueue: 'desks', build: 'b1' },
  ],
])('%s', (_, execution, expected) => {
  const found = waitingTask(execution, NOW);
  expect(found).toEqual(expected && { since: SINCE, ...expected });
});

const WAITING: WaitingTask = { kind: 'workflow', taskQueue: 'desks', since: new Date(NOW - 20_000) };

/** A client of a server that describes its task queue like this. */
function clientOf(queue: object): { client: Parameters<typeof waitForWorker>[0]; asked: ReturnType<typeof vi.fn> } {
  const asked = vi.fn<(request: unknown) => Promise<unknown>>().mockResolvedValue(DescribeTaskQueueResponse.fromObject(queue));
  const client = { options: { namespace: 'acme' }, workflowService: { describeTaskQueue: asked } };
  return { client: client as unknown as Parameters<typeof waitForWorker>[0], asked };
}

const poller = (secondsBefore: number, build?: string): object => ({
  lastAccessTime: { seconds: Math.round(Date.now() / 1_000) - secondsBefore },
  ...(build === undefined ? {} : { deploymentOptions: { deploymentName: 'shop', buildId: build } }),
});
const current = (buildId: string): object => ({ versioningInfo: { currentDeploymentVersion: { deploymentName: 'shop', buildId } } });

test.each<[queue: object, task: Partial<WaitingTask>, why: string, text: RegExp]>([
  [{}, {}, 'no_worker', /^for a worker since 2026-11-01T00:00:40\.000Z: no worker polls task queue "desks"/],
  [{}, { activity: 'callModel' }, 'no_worker', /^for a worker for callModel since/],
  [{ pollers: [poller(200)] }, {}, 'no_worker', /no worker polls/],
  [{ pollers: [poller(3)], stats: { approximateBacklogCount: 12 } }, {}, 'busy', /1 worker polled task queue "desks", .* 12 tasks wait/],
  [{ pollers: [poller(3, 'b2')] }, {}, 'no_build', /1 worker of task queue "desks" has build "b2", and none is current/],
  [{ pollers: [poller(3, 'b2')], ...current('b3') }, {}, 'no_build', /the run needs build "b3"/],
  [{ pollers: [poller(3, 'b2')], ...current('b2') }, { build: 'b1' }, 'no_build', /the run needs build "b1"/],
  [{ pollers: [poller(3, 'b2')], ...current('b2') }, {}, 'busy', /the task waits/],
  [{ pollers: [poller(3)] }, { failing: 4 }, 'failing', /has failed 3 times/],
])('case %$ of task queues: why nobody has taken a task', async (queue, more, why, text) => {
  const wait = await waitForWorker(clientOf(queue).client, { ...WAITING, ...more });
  expect(wait).toMatchObject({ why, taskQueue: 'desks' });
  expect(wait && workerWaitText(wait)).toMatch(text);
});

test('a run without a waiting task costs no request, and a server that does not describe the queue says nothing', async () => {
  const { client, asked } = clientOf({});
  expect(await waitForWorker(client, undefined)).toBeUndefined();
  expect(asked).not.toHaveBeenCalled();
  asked.mockRejectedValue(new Error('not allowed'));
  expect(await polledQueue(client, WAITING)).toBeUndefined();
  expect(await waitForWorker(client, WAITING)).toBeUndefined();
});
