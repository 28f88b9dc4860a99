import type { Client } from '@temporalio/client';
import { defaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils.js';
import { describe, expect, test } from 'vitest';
import type { NewestExecution } from '../../src/client/executions.ts';
import { callDetails, pinnedAgent, type ReadableRun, turnsPage } from '../../src/client/run-details.ts';
import { stepRequest } from '../../src/client/step-request.ts';
import { runTimeline } from '../../src/client/timeline.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import { sessionOf } from '../../src/core/domain/sessions.ts';
import type { Shape } from '../../src/core/domain/shape.ts';
import {
  CALL_DETAILS,
  PINNED_AGENT,
  RUN_TIMELINE,
  type RunTimeline,
  STEP_REQUEST,
  timeByKind,
  type TimelineSpan,
  TURN_ENTRY,
} from '../../src/core/domain/views.ts';
import { checkJson } from '../../src/core/json-schema/check-json-schema.ts';
import { AGENT_RUN, PROGRAM_RUN } from '../../src/core/protocol.ts';
import { type ChainedExecution, executionBeginning } from '../../src/history/execution-reader.ts';
import type { HistoryEvent } from '../../src/history/history-events.ts';
import { readExecution } from '../../src/history/read-run.ts';
import { recordedHistories, recordOf } from '../replay/histories.ts';

const CONVERTER = { payloadConverter: defaultPayloadConverter, failureConverter: defaultFailureConverter, payloadCodecs: [] };

const RUNS: readonly string[] = [AGENT_RUN, PROGRAM_RUN];

/** A run with recorded histories, read without a worker. */
interface RecordedServerRun extends ReadableRun {
  /** The events of all its executions. */
  events: HistoryEvent[];
}

let runsRead: Promise<Map<string, RecordedServerRun>> | undefined;

/**
 * Returns the recorded runs that are separate workflows, by their ids, like a server that no worker polls. All tests of a process share
 * them.
 */
function recordedRuns(): Promise<Map<string, RecordedServerRun>> {
  return (runsRead ??= readRuns());
}

async function readRuns(): Promise<Map<string, RecordedServerRun>> {
  const histories = new Map<string, HistoryEvent[]>();
  const chains = new Map<string, { executionId: string; number: number }[]>();
  for (const { name, runId, history } of recordedHistories()) {
    const events = [...(historyFromJSON(history).events ?? [])];
    const { workflowType, originalExecutionRunId } = events[0]?.workflowExecutionStartedEventAttributes ?? {};
    if (!RUNS.includes(workflowType?.name ?? '')) continue;
    const [, number = '1'] = /-(\d+)$/.exec(name) ?? [];
    const executionId = originalExecutionRunId ?? '';
    histories.set(`${runId} ${executionId}`, events);
    chains.set(runId, [...(chains.get(runId) ?? []), { executionId, number: Number(number) }]);
  }
  const service = {
    getWorkflowExecutionHistory: ({ execution: { workflowId, runId } }: { execution: { workflowId: string; runId: string } }) =>
      Promise.resolve({ history: { events: histories.get(`${workflowId} ${runId}`) ?? [] }, nextPageToken: new Uint8Array() }),
  };
  const stub: unknown = { options: { namespace: 'default', loadedDataConverter: CONVERTER }, workflowService: service };
  const client = stub as Client;
  const runs = [...chains].map(async ([runId, unordered]): Promise<[string, RecordedServerRun]> => {
    const links = unordered.toSorted((one, other) => one.number - other.number);
    const executions = await Promise.all(links.map(({ executionId }) => chained(client, runId, executionId)));
    const last = executions.at(-1)?.executionId ?? '';
    const newest = {
      executionId: last,
      kind: 'agent',
      status: 'COMPLETED',
      closed: true,
      taskQueue: 'desks',
      running: [],
      missing: [],
    } satisfies NewestExecution;
    const chain: unknown = { executions: () => Promise.resolve(executions), newest: () => Promise.resolve(newest) };
    const recordedRun = async (): Promise<unknown> => (await readExecution(client, runId, last))?.run;
    const reader = { chain, recordedRun } as ReadableRun['reader'];
    const events = executions.flatMap(({ executionId }) => histories.get(`${runId} ${executionId}`) ?? []);
    return [runId, { client, runId, reader, events }];
  });
  return new Map(await Promise.all(runs));
}

async function chained(client: Client, runId: string, executionId: string): Promise<ChainedExecution> {
  const { continuedState } = (await executionBeginning(client, runId, executionId)) ?? {};
  const session = sessionOf(continuedState ?? {});
  return {
    executionId,
    firstOffset: continuedState?.window.through ?? 0,
    firstStep: continuedState?.currentStep ?? 0,
    firstTurn: session?.turn?.number ?? (session?.turns ?? 0) + 1,
  };
}

const runs = [...(await recordedRuns())];
const recorded = runs.flatMap(([runId, run]) => {
  const record = recordOf(runId);
  return record === undefined ? [] : [{ runId, run, record }];
});

/** The value as JSON has it, which must fit its shape. */
function checked<Value>(shape: Shape, value: Value): Value {
  expect(checkJson(shape, JSON.parse(JSON.stringify(value)) as JsonValue)).toEqual([]);
  return value;
}

async function pagesOf(run: RecordedServerRun, limit: number): Promise<TimelineSpan[]> {
  const spans: TimelineSpan[] = [];
  for (let from: number | undefined = 0; from !== undefined;) {
    const page: RunTimeline = checked(RUN_TIMELINE, await runTimeline(run, { from, limit }));
    expect(page.ms).toEqual(timeByKind(page.spans));
    for (const { offset } of page.spans) expect(offset).toBeGreaterThanOrEqual(from);
    spans.push(...page.spans);
    expect(page.next === undefined || page.next > from).toBe(true);
    from = page.next;
  }
  return spans;
}

const at = ({ eventTime }: HistoryEvent): number => Number(eventTime?.seconds) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1e6);

/** The milliseconds of all workflow tasks, summed without the code that is tested. */
function taskMs(events: readonly HistoryEvent[]): number {
  let began = 0;
  let sum = 0;
  for (const event of events) {
    if (event.workflowTaskStartedEventAttributes) began = at(event);
    if (event.workflowTaskCompletedEventAttributes ?? event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes)
      sum += at(event) - began;
  }
  return sum;
}

/** True for a call that is part of an activity. */
const isInBurst = ({ id, kind }: TimelineSpan): boolean => (kind === 'model' || kind === 'tool') && /\.\d+$/.test(id);

describe('the timeline of each recorded run', () => {
  test.each(runs)('%s', async (runId, run) => {
    const spans = await pagesOf(run, 10_000);
    expect((await pagesOf(run, 12)).map(({ id }) => id)).toEqual(spans.map(({ id }) => id));
    expect(new Set(spans.map(({ id }) => id)).size).toBe(spans.length);
    const { events } = run;
    const count = (kinds: readonly string[]): number => spans.filter(({ kind }) => kinds.includes(kind)).length;
    const isLocal = ({ markerRecordedEventAttributes: marker }: HistoryEvent): boolean => marker?.markerName === 'core_local_activity';
    const activities = events.filter((event) => event.activityTaskScheduledEventAttributes || isLocal(event)).length;
    expect(count(['model', 'tool', 'own']) - spans.filter(isInBurst).length).toBe(activities);
    expect(count(['task'])).toBe(events.filter((event) => event.workflowTaskScheduledEventAttributes).length);
    expect(count(['child'])).toBeGreaterThanOrEqual(
      events.filter((event) => event.startChildWorkflowExecutionInitiatedEventAttributes).length,
    );
    expect(timeByKind(spans).task).toBe(taskMs(events));
    for (const { from, to = from, queueMs = 0, retryMs = 0, runMs = 0 } of spans) {
      expect([Date.parse(to) >= Date.parse(from), queueMs >= 0, retryMs >= 0, runMs >= 0]).toEqual([true, true, true, true]);
    }
    const decided = (recordOf(runId)?.events ?? []).flatMap(({ decision }) =>
      decision && decision.source !== 'remembered' ? [decision] : [],
    );
    const waits = spans.flatMap(({ kind, decision, callId }) =>
      kind === 'person' && decision !== undefined ? [`${callId} ${decision}`] : [],
    );
    expect(waits.toSorted()).toEqual(decided.map(({ callId, type }) => `${callId} ${type}`).toSorted());
  });
});

test('the calls of a burst are spans inside it, which take their time from it', async () => {
  const names = new Set<string>();
  for (const [, run] of runs) {
    const spans = await pagesOf(run, 10_000);
    for (const burst of spans.filter(({ name }) => name === 'runBurst')) {
      const calls = spans.filter((one) => isInBurst(one) && one.id.startsWith(`${burst.id}.`));
      const { from, to = from, queueMs = 0, runMs = 0 } = burst;
      for (const call of calls) {
        names.add(call.name);
        expect([Date.parse(call.from) >= Date.parse(from), Date.parse(call.to ?? '') <= Date.parse(to)]).toEqual([true, true]);
        expect(typeof call.step).toBe(call.kind === 'model' ? 'number' : 'undefined');
        expect(typeof call.callId).toBe(call.kind === 'tool' ? 'string' : 'undefined');
      }
      const took = calls.reduce((sum, call) => sum + (call.runMs ?? 0), 0);
      expect(runMs).toBeLessThanOrEqual(Date.parse(to) - Date.parse(from));
      expect(runMs + took).toBeGreaterThanOrEqual(Date.parse(to) - Date.parse(from) - queueMs - (burst.retryMs ?? 0));
    }
  }
  expect([...names]).toEqual(expect.arrayContaining(['callModel', 'search']));
});

/** True for a run that has called a model itself: the agents of a parallel flow do so in separate runs. */
const hasAsked = ({ record }: (typeof recorded)[number]): boolean => record.events.some(({ usage }) => usage !== undefined);
const withSteps = recorded.filter(({ record }) => record.steps.length > 0);

describe('the request of each step of each recorded run', () => {
  test.each(withSteps.filter(hasAsked))('$runId', async ({ run, record }) => {
    let known = new Set<number>();
    for (const { step } of record.steps) {
      const { request, diff, through } = checked(STEP_REQUEST, await stepRequest(run, step, { diff: 'previous' }));
      expect(request.instructions.length + request.conversation.length).toBeGreaterThan(0);
      expect(diff === undefined).toBe(step === 1);
      const { added = [], summarized = [], commonPrefix = { tokens: 0, of: 0 } } = diff ?? {};
      expect(commonPrefix.tokens).toBeLessThanOrEqual(commonPrefix.of);
      const now = new Set([...known, ...added.map(({ offset }) => offset)]);
      for (const { offset } of summarized) now.delete(offset);
      // Texts recalled for a call are recorded after the events of its conversation.
      expect(Math.max(0, ...now)).toBeLessThanOrEqual(through);
      known = now;
    }
    await expect(stepRequest(run, record.steps.length + 50)).rejects.toMatchObject({
      code: 'unknown_step',
      message: expect.stringContaining(`steps 1 to ${record.steps.length}`),
    });
  });

  test.each(withSteps.filter((one) => !hasAsked(one)))('$runId has no requests', async ({ run }) => {
    await expect(stepRequest(run, 1)).rejects.toMatchObject({ code: 'unknown_step', message: expect.stringMatching(/no model|program/) });
  });
});

describe('each call of each recorded run', () => {
  test.each(recorded.filter(({ record }) => record.steps.some(({ toolCalls }) => toolCalls.length > 0)))(
    '$runId',
    async ({ run, record }) => {
      for (const { step, toolCalls } of record.steps) {
        for (const { callId, toolName, arguments: ranWith } of toolCalls) {
          const details = checked(CALL_DETAILS, await callDetails(run, callId));
          expect(details).toMatchObject({ callId, toolName, step });
          expect(details.ranWith ?? details.arguments).toEqual(ranWith);
          expect(details.result).toBeDefined();
          expect(record.events[details.offset]?.content).toContainEqual(expect.objectContaining({ toolCallId: callId }));
        }
      }
      await expect(callDetails(run, 'no such call')).rejects.toMatchObject({ code: 'call_not_found' });
    },
  );
});

test('the agent at the place of each model call is the one whose name its answer has', async () => {
  const answers = recorded.flatMap(({ run, record: { events } }) =>
    events.flatMap(({ author, usage, caller, failed, step, compaction, title }, offset) =>
      [caller, failed, step, compaction, title].some((one) => one !== undefined) || usage === undefined ? [] : [{ run, offset, author }],
    ),
  );
  expect(answers.length).toBeGreaterThan(100);
  for (const { run, offset, author } of answers) {
    const { snapshot } = checked(PINNED_AGENT, await pinnedAgent(run, offset));
    expect([run.runId, offset, snapshot.name]).toEqual([run.runId, offset, author]);
  }
});

test('the turns of each recorded session are those that its record ends, each with its events', async () => {
  const sessions = recorded.filter(({ record }) => record.events.some(({ turn }) => turn !== undefined));
  expect(sessions.length).toBeGreaterThan(3);
  for (const { run, record } of sessions) {
    const { turns } = await turnsPage(run, { limit: 1_000 });
    for (const turn of turns) checked(TURN_ENTRY, turn);
    const ends = record.events.flatMap(({ turn }) => turn ?? []);
    expect(turns.flatMap(({ turn, status }) => (status === undefined ? [] : [[turn, status]]))).toEqual(
      ends.map(({ number, status }) => [number, status]),
    );
    expect(Math.max(...turns.map((one) => JSON.stringify(one).length))).toBeLessThan(2_000);
    for (const { turn } of turns)
      expect((await turnsPage(run, { from: turn, limit: 1 })).turns[0]).toEqual(turns.find((one) => one.turn === turn));
    expect((await turnsPage(run, { limit: 1 })).next).toBe(turns[1]?.turn);
  }
});

test('the time of a person includes a wait that a cancellation has ended', async () => {
  const run = (await recordedRuns()).get('cancelled-by-signal-while-it-waits');
  if (run === undefined) throw new Error('there is no such history');
  const { spans, ms } = await runTimeline(run);
  expect(spans.filter(({ kind }) => kind === 'person')).toMatchObject([{ callId: expect.any(String) as string }]);
  expect(ms.person).toBeGreaterThan(0);
});
