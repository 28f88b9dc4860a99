import { type Client, ServiceError, type WorkflowExecutionDescription } from '@temporalio/client';
import { expect, test } from 'vitest';
import { ApplicationFailure, defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { msToTs } from '@temporalio/common/lib/time.js';
import { queryRun, runningCalls } from '../../src/client/executions.ts';
import { Numbering } from '../../src/client/export-run.ts';
import type { HistoryEvent } from '../../src/history/history-events.ts';
import { retriedStep, type RetryPoints, retryPoints } from '../../src/client/retry-run.ts';
import { ACTIVITIES } from '../../src/core/protocol.ts';
import { recordedChains } from '../history/recorded-histories.ts';

/** A client whose queries have these outcomes in order, and the number of its queries. */
function clientWith(...outcomes: (() => unknown)[]): { client: Client; sent: () => number } {
  let sent = 0;
  const query = async (): Promise<unknown> => {
    sent += 1;
    return outcomes[sent - 1]?.();
  };
  const client = { workflow: { getHandle: () => ({ query }) }, withDeadline: (_: number, work: () => Promise<unknown>) => work() };
  return { client: client as unknown as Client, sent: () => sent };
}

function bufferFull(): never {
  const details =
    'consistent query buffer is full, this may be caused by too many queries and workflow not able to process query fast enough';
  const cause = Object.assign(new Error(`8 RESOURCE_EXHAUSTED: ${details}`), { code: 8, details, metadata: {} });
  throw new ServiceError('Failed to query Workflow', { cause });
}

test('a query at the same time as another one of the same run is resent, and answered', async () => {
  const { client, sent } = clientWith(bufferFull, bufferFull, () => ({ status: 'running' }));
  expect(await queryRun(client, 'run-1', 'status')).toEqual({ status: 'running' });
  expect(sent()).toBe(3);
});

test('each number is accepted once, and missing numbers are recorded as ranges', () => {
  const numbering = new Numbering();
  expect([2, 3, 3, 1, 7].map((number) => numbering.pass(number))).toEqual([true, true, false, false, true]);
  numbering.reach(8);
  numbering.reach(10);
  numbering.reach(4);
  expect(numbering.passed).toBe(3);
  expect(numbering.missing).toEqual([
    { from: 0, through: 2 },
    { from: 4, through: 7 },
    { from: 8, through: 10 },
  ]);
});

type Described = Pick<WorkflowExecutionDescription, 'raw'>;

const OPTIONS: unknown = {
  options: {
    loadedDataConverter: { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] },
  },
};
const CLIENT = OPTIONS as Client;
const GIVES_UP = '2026-01-01T00:10:00.000Z';

/** A described run with one pending activity, whose last attempt failed with these details. */
function described(type: string, state: number, details: unknown): Described {
  const failure = ApplicationFailure.create({
    message: 'slow down',
    type: 'model_rate_limited',
    details: [details],
    nextRetryDelay: 5_000,
  });
  const lastFailure = defaultFailureConverter.errorToFailure(failure, defaultPayloadConverter);
  const pending = {
    activityType: { name: type },
    state,
    attempt: 4,
    lastFailure,
    scheduledTime: msToTs(Date.parse('2026-01-01T00:00:07Z')),
  };
  const description: unknown = { raw: { pendingActivities: [pending] } };
  return description as Described;
}

test.each(['callModel', 'summarize', 'askStep'])(
  'a refused call of %s shows who refused it, when it is retried, and when it is given up',
  async (name) => {
    const details = { spent: {}, refused: { count: 3, queuedMs: 0, givesUpAt: GIVES_UP } };
    expect(await runningCalls(CLIENT, described(name, 1, details))).toEqual([
      {
        name,
        attempt: 4,
        lastFailure: 'slow down',
        refused: { code: 'model_rate_limited', times: 3, nextAttemptAt: '2026-01-01T00:00:07.000Z', givesUpAt: GIVES_UP },
      },
    ]);
  },
);

test.each<[what: string, state: number, details: unknown]>([
  ['a call whose next attempt continues', 2, { refused: { count: 3, queuedMs: 0, givesUpAt: GIVES_UP } }],
  ['a call that failed otherwise', 1, { spent: {} }],
  ['a call without details', 1, undefined],
  ['invalid details', 1, { refused: { count: 'many', givesUpAt: GIVES_UP } }],
  ['details without an end', 1, { refused: { count: 3, queuedMs: 0 } }],
])('%s does not wait for a provider', async (_, state, details) => {
  const [call] = await runningCalls(CLIENT, described('callModel', state, details));
  expect(call).toMatchObject({ lastFailure: 'slow down' });
  expect(call).not.toHaveProperty('refused');
});

const CONVERTER = { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] };

/** The summaries of the model calls and of bursts, as people read them: `step 2 · model · …`. */
function saidBySummaries(events: readonly HistoryEvent[]): Record<string, number> {
  const said: Record<string, number> = {};
  for (const { activityTaskScheduledEventAttributes: scheduled, userMetadata } of events) {
    const name = scheduled?.activityType?.name;
    if (name !== ACTIVITIES.callModel && name !== ACTIVITIES.runBurst) continue;
    const [, step] = /step (\d+)/.exec(Buffer.from(userMetadata?.summary?.data ?? []).toString()) ?? [];
    if (step !== undefined) said[step] = Number(scheduled?.workflowTaskCompletedEventId);
  }
  return said;
}

test('the task that scheduled a step is found in every recorded run, in any execution', async () => {
  let found = 0;
  for (const [name, links] of await recordedChains()) {
    for (const { events, recorded } of links) {
      const points = await retryPoints({ runId: name, executionId: recorded.executionId, converter: CONVERTER }, events);
      const tasks = Object.fromEntries([...points.tasks].map(([step, task]) => [step, Number(task)]));
      const { executionId, continuedFrom } = recorded;
      expect({ executionId, tasks }).toEqual({ executionId, tasks: saidBySummaries(events) });
      expect(points.isContinued).toBe(continuedFrom !== undefined);
      found += points.tasks.size;
    }
  }
  expect(found).toBeGreaterThan(50);
});

async function pointsOf(name: string, execution = 1): Promise<RetryPoints> {
  const link = (await recordedChains()).get(name)?.[execution - 1];
  if (link === undefined) throw new Error(`There is no recorded run "${name}"`);
  return retryPoints({ runId: name, executionId: name, converter: CONVERTER }, link.events);
}

test('a run is retried from the last step that it scheduled, unless another is named', async () => {
  const points = await pointsOf('completed-with-tools-in-sequence');
  const steps = [...points.tasks.keys()];
  expect(retriedStep('r', points, {})).toEqual({ fromStep: steps.at(-1), task: points.tasks.get(steps.at(-1) ?? 0) });
  expect(retriedStep('r', points, { fromStep: 1 })).toEqual({ fromStep: 1, task: points.tasks.get(1) });
});

test('a run in bursts is retried from the beginning of a burst', async () => {
  const points = await pointsOf('in-bursts');
  expect([...points.tasks.keys()]).toEqual([1, 3]);
  expect(retriedStep('r', points, {})).toEqual({ fromStep: 3, task: points.tasks.get(3) });
  expect(() => retriedStep('r', points, { fromStep: 2 })).toThrow(
    'step 2 is in the middle of a burst, which begins with step 1. Retry it from step 1',
  );
  expect(() => retriedStep('r', points, { fromStep: 9 })).toThrow('it has no step 9');
});

test('a run that never called the model begins again', async () => {
  const points = await pointsOf('failed-with-an-unknown-agent');
  expect(retriedStep('r', points, {})).toEqual({ fromStep: 1, task: points.firstTask });
});

test('a step that does not exist is refused with the existing steps', async () => {
  const short = await pointsOf('failed-in-a-model-call');
  expect(() => retriedStep('r', short, { fromStep: 9 })).toThrow(
    /^Run "r" cannot be retried from there: it has no step 9\. Retry it from (a step from 1 to \d|step 1)$/,
  );
  const later = await pointsOf('continued-after-every-step', 3);
  expect(() => retriedStep('r', later, { fromStep: 1 })).toThrow('step 1 is in an earlier execution');
});

test('a run is refused that no worker had begun, or that would end at its deadline', async () => {
  const unbegun = await retryPoints({ runId: 'r', executionId: 'e', converter: CONVERTER }, []);
  expect(() => retriedStep('r', unbegun, {})).toThrow('it ended before a worker had begun it');
  const late = await pointsOf('stopped-by-its-deadline-among-calls');
  expect(() => retriedStep('r', late, {})).toThrow(/^Run "r" cannot be retried: its deadline was 20[-\dT:.]+Z, and it would end at once/);
});

test('requests of callers are found with the task that accepted them', async () => {
  const [link] = (await recordedChains()).get('decided-in-every-way') ?? [];
  if (link === undefined) throw new Error('There is no such recorded run');
  const { accepted: requests } = await retryPoints({ runId: 'r', executionId: 'e', converter: CONVERTER }, link.events);
  const accepted = link.events.filter((event) => event.workflowExecutionUpdateAcceptedEventAttributes);
  expect(requests.map(({ update }) => update?.updateId)).toEqual(
    accepted.map((event) => event.workflowExecutionUpdateAcceptedEventAttributes?.protocolInstanceId),
  );
  for (const { eventId, update } of requests) expect(update?.acceptedIn.lessThan(eventId)).toBe(true);
});
