import { expect, test } from 'vitest';
import type { Event } from '../../src/core/domain/record.ts';
import type { RunResultJson } from '../../src/core/domain/result.ts';
import { notHappened, unknownOutcome } from '../../src/core/domain/tool-calls.ts';
import { difference, plainRecord } from './checks.ts';
import type { Effect } from './processes/ledger.ts';
import type { Pass } from './processes/crash-testbed.ts';
import { answerOf, effectOf, SCRIPT } from './reference/reference-script.ts';
import { pointProblems, randomProblems, undisturbedProblems } from './reference/agent-subject.ts';
import type { RunRecord } from './runs/run-approved.ts';

const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The result texts of calls whose outcome was unusual, by call id. */
type Told = Readonly<Record<string, string>>;

/** A record of a run with its own ids and times. */
function recordOf(told: Told = {}): RunRecord {
  const runId = `run-${(runs += 1)}`;
  const calls = SCRIPT.map((step) => step.map(({ name, id }) => ({ name: String(name), callId: String(id) })));
  const result = calls
    .flat()
    .map(({ callId }) => ({ toolCallId: callId, status: callId in told ? ('error' as const) : ('success' as const) }));
  const output = answerOf(result);
  const event = (content: Event['content'], more: Partial<Event> = {}): Event => ({
    id: `${runId}/${Math.random()}`,
    executionId: runId,
    timestamp: new Date(Date.now() * Math.random()).toISOString(),
    author: 'clerk',
    content,
    ...more,
  });
  const events = calls.flatMap((step, index) => [
    event(
      step.map(({ name, callId }) => ({ type: 'tool_call', toolCallId: callId, name, arguments: { index } })),
      { usage: USAGE },
    ),
    event(
      step.map(({ name, callId }) => {
        const status = callId in told ? 'error' : 'success';
        return { type: 'tool_result', toolCallId: callId, name, status, content: [told[callId] ?? `${name}: done`] };
      }),
    ),
  ]);
  const text = JSON.stringify(output);
  return {
    runId,
    result: { ...RESULT, runId, output, outputText: text, steps: stepsOf(calls, told, text) },
    events: [...events, event([{ type: 'message', role: 'assistant', content: text }], { usage: USAGE })],
    waiting: { status: 'pending_confirmation', waitingFor: ['refund'] },
    executions: 2,
    effects: calls.flat().map(({ name, callId }) => ({ effect: effectOf(name, callId), key: `${runId}/${callId}`, acts: 1 })),
    kills: 1,
    timedOut: [],
  };
}

let runs = 0;

const RESULT: RunResultJson<unknown> = {
  version: 1,
  runId: '',
  agentName: 'clerk',
  output: null,
  status: 'completed',
  stopReason: 'final_answer',
  stepsUsed: 10,
  usage: { promptTokens: 200, completionTokens: 50, totalTokens: 250, cachedTokens: 0, reasoningTokens: 0, llmCalls: 10 },
  toolCallsTotal: 12,
  toolCallsByName: {},
  startTime: null,
  endTime: null,
  durationSeconds: null,
  error: null,
  limits: { steps: 10 },
  maxIterations: 10,
  success: true,
  outputText: '',
  hasMedia: false,
  mediaTypes: [],
};

function stepsOf(calls: { name: string; callId: string }[][], told: Told, text: string): NonNullable<RunResultJson['steps']> {
  const steps = calls.map((step, index) => ({
    step: index + 1,
    thought: null,
    toolCalls: step.map(({ name, callId }) => ({
      toolName: name,
      callId,
      arguments: { index },
      result: told[callId] ?? `${name}: done`,
      isError: callId in told,
      durationMs: Math.random(),
      timestamp: new Date().toISOString(),
    })),
    usage: USAGE,
    finishReason: 'tool_calls',
  }));
  return [...steps, { step: 10, thought: text, toolCalls: [], usage: USAGE, finishReason: 'stop' }];
}

const LETTER_UNKNOWN = { s5: unknownOutcome('post_letter', "Tool 'post_letter' timed out after 9ms (1 attempt)") };
const NOT_CHARGED = { s4: notHappened('charge') };
const undisturbed = plainRecord(recordOf());

function problemsAt(point: string, record: RunRecord, pass: Pass = 'worker'): string[] {
  return pointProblems(undisturbed, { pass, point }, record);
}

function without(effect: string, { effects }: RunRecord): Effect[] {
  return effects.filter((one) => one.effect !== effect);
}

function acting(effect: string, acts: number, { effects }: RunRecord): Effect[] {
  return effects.map((one) => (one.effect === effect ? { ...one, acts } : one));
}

test('a run that ends like the undisturbed one passes, with any ids, times and attempts', () => {
  const record = recordOf();
  const [first, ...others] = record.events;
  const spent = { promptTokens: 3, completionTokens: 0, totalTokens: 3 };
  const usage = { ...record.result.usage, promptTokens: 203, totalTokens: 253, estimated: spent };
  const again: RunRecord = {
    ...record,
    events: [{ ...(first as Event), failedAttempts: { reported: spent, estimated: spent } }, ...others],
    result: { ...record.result, usage },
    effects: acting('look_up s1', 2, record),
  };
  expect(problemsAt('before look_up s1', record)).toEqual([]);
  expect(problemsAt('after look_up s1', again)).toEqual([]);
  expect(problemsAt('told charge s4', record)).toEqual([]);
});

test.each<[string, (record: RunRecord) => Partial<RunRecord>]>([
  ['the worker was killed 0 times, where it should die once, at this point', () => ({ kills: 0 })],
  ['the worker was killed 2 times, where it should die once, at this point', () => ({ kills: 2 })],
  ['the events are others:', ({ events }) => ({ events: events.slice(1) })],
  ['the events are others:', ({ events }) => ({ events: [...events, ...events.slice(-1)] })],
  ['the events are others:', ({ events }) => ({ events: events.map((event) => ({ ...event, author: 'somebody' })) })],
  ['the result is another:', ({ result }) => ({ result: { ...result, status: 'error' } })],
  ['the result is another:', ({ result }) => ({ result: { ...result, usage: { ...result.usage, totalTokens: 275 } } })],
  ['the result is another:', ({ result }) => ({ result: { ...result, steps: result.steps?.slice(1) ?? [] } })],
  [
    'while it waited for the approval, it said that it is running and waits for: nothing',
    () => ({ waiting: { status: 'running', waitingFor: [] } }),
  ],
  ['"look_up s1" was not done', (record) => ({ effects: without('look_up s1', record) })],
  [
    '"look_up s1" was done with 2 idempotency keys: a, b',
    (record) => ({
      effects: [...without('look_up s1', record), ...['a', 'b'].map((key) => ({ effect: 'look_up s1', key, acts: 1 }))],
    }),
  ],
  ['"charge s4" was not done', (record) => ({ effects: without('charge s4', record) })],
  ['"charge s4" happens once, and was done 2 times', (record) => ({ effects: acting('charge s4', 2, record) })],
  ['"post_letter s5" happens once, and was done 2 times', (record) => ({ effects: acting('post_letter s5', 2, record) })],
  ['"dance" was done without a call', ({ effects }) => ({ effects: [...effects, { effect: 'dance', key: 'k', acts: 1 }] })],
])('"%s" is reported for a run with this problem (%#)', (problem, broken) => {
  const record = recordOf();
  const problems = problemsAt('before look_up s1', { ...record, ...broken(record) });
  expect(problems.map((text) => text.split('\n')[0])).toEqual([problem]);
});

test('the outcome of a call with effect `once` that was hit is unknown: no other result passes there, and unknown does not pass elsewhere', () => {
  const unknown = recordOf(LETTER_UNKNOWN);
  const unsent = { ...unknown, effects: without('post_letter s5', unknown) };
  for (const point of ['before post_letter s5', 'after post_letter s5']) {
    expect(problemsAt(point, unknown)).toEqual([]);
    expect(problemsAt(point, unsent)).toEqual([]);
    expect(problemsAt(point, recordOf())).toHaveLength(2);
    expect(problemsAt(point, recordOf({ s5: 'It went wrong' }))).toHaveLength(2);
    expect(problemsAt(point, { ...unknown, effects: acting('post_letter s5', 2, unknown) })).toHaveLength(1);
    expect(problemsAt(point, unknown, 'server')).toHaveLength(2);
  }
  expect(problemsAt('told post_letter s5', unknown)).toHaveLength(2);
  expect(problemsAt('before charge s4', unknown)).toHaveLength(3);
});

test('a call that can be verified is reported as not happened if it did not happen, and has its result if it did', () => {
  const untold = recordOf(NOT_CHARGED);
  const uncharged = { ...untold, effects: without('charge s4', untold) };
  expect(problemsAt('before charge s4', uncharged)).toEqual([]);
  expect(problemsAt('before charge s4', untold)).toEqual(['"charge s4" was done, and the model was told that it was not']);
  expect(problemsAt('before charge s4', recordOf())).toHaveLength(3);
  expect(problemsAt('after charge s4', recordOf())).toEqual([]);
  expect(problemsAt('after charge s4', uncharged)).toHaveLength(3);
});

test('in a random run, a call with effect `once` may be unknown if the server has given it up, and no other call may be', () => {
  const unknown = recordOf(LETTER_UNKNOWN);
  expect(randomProblems(undisturbed, recordOf())).toEqual([]);
  expect(randomProblems(undisturbed, { ...unknown, timedOut: ['post_letter'] })).toEqual([]);
  expect(randomProblems(undisturbed, unknown)).toEqual(['"post_letter" is unclear, and the server had not given it up']);
  expect(randomProblems(undisturbed, recordOf({ s1: unknownOutcome('look_up', 'its worker gave no answer') }))).toHaveLength(2);
});

test('the run that all others are compared with must itself be complete', () => {
  const record = { ...recordOf(), kills: 0 };
  expect(undisturbedProblems(record)).toEqual([]);
  expect(undisturbedProblems({ ...recordOf(LETTER_UNKNOWN), kills: 0 })).toHaveLength(1);
  expect(undisturbedProblems({ ...record, executions: 1 })).toEqual(['it did not continue as new']);
  expect(undisturbedProblems({ ...record, kills: 1 })).toHaveLength(1);
  expect(undisturbedProblems({ ...record, effects: record.effects.slice(1) })).toHaveLength(1);
  expect(undisturbedProblems({ ...record, result: { ...record.result, status: 'cancelled', stepsUsed: 9 } })).toHaveLength(2);
});

test('a difference shows the missing lines and the additional ones', () => {
  expect(difference({ a: 1, b: [2] }, { a: 1, b: [2] })).toBeUndefined();
  expect(difference({ a: 1, b: 2 }, { a: 1, b: 3 })).toBe('-  "b": 2\n+  "b": 3');
});
