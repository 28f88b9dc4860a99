import { expect, test } from 'vitest';
import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import { answerTo, EFFECTS, FORGETS, FORGOTTEN_KEY, INTERRUPTED, KEPT_KEY, MESSAGES } from './conversation.ts';
import { plainSession, pointProblems, randomProblems, undisturbedProblems, NAMED_POINTS, sampleOfSession } from './session-subject.ts';
import type { SessionRecord } from './session-run.ts';

const POINTS = Array.from({ length: 25 }, (_, index) => `told callModel ${index}`);
const HIT = { pass: 'worker', point: 'begin' } as const;

let made = 0;

/** A record with its own ids. */
function recordOf(): SessionRecord {
  const runId = `session-${(made += 1)}`;
  const usage = { promptTokens: 1, completionTokens: 1, totalTokens: 2 };
  const said = (role: 'user' | 'assistant', content: string, more: Partial<Event> = {}): Event =>
    ({ id: `${runId} ${content}`, author: role, content: [{ type: 'message', role, content }], ...more }) as Event;
  const events = MESSAGES.flatMap((message) => [
    said('user', message),
    ...(message === FORGETS ? [said('user', FORGOTTEN_KEY, { memory: { entries: 1 } })] : []),
    ...(message === INTERRUPTED ? [] : [said('assistant', answerTo(message), { usage })]),
  ]);
  const calls = MESSAGES.length - 1;
  const turns = MESSAGES.map((message) => ({
    runId,
    usage: message === INTERRUPTED ? { llmCalls: 0, totalTokens: 0 } : { ...usage, llmCalls: 1 },
  }));
  return {
    runId,
    result: { runId, status: 'completed', usage: { llmCalls: calls, totalTokens: 2 * calls } } as RunResultJson<unknown>,
    events,
    turns: turns as unknown as SessionRecord['turns'],
    answeredIn: Object.fromEntries(MESSAGES.map((message, index) => [message, index + 1])),
    refusal: 'session_limit',
    waiting: { status: 'pending_confirmation', waitingFor: ['refund'] },
    executions: 2,
    effects: EFFECTS.map((effect) => ({ effect, key: `${runId} ${effect}`, acts: 1 })),
    memory: [KEPT_KEY],
    asks: [{ told: 'told callModel 1', times: 1, inFlight: true }],
    givenUp: new Map(),
    kills: 1,
  };
}

const undisturbed = plainSession(recordOf());

test('a session passes with any ids', () => {
  expect(undisturbedProblems({ ...recordOf(), kills: 0 }, POINTS)).toEqual([]);
  expect(pointProblems(undisturbed, HIT, recordOf())).toEqual([]);
  expect(randomProblems(undisturbed, recordOf())).toEqual([]);
});

test.each<[string, (record: SessionRecord) => Partial<SessionRecord>]>([
  ['the worker was killed 2 times, where it should die once, at this point', () => ({ kills: 2 })],
  ['message "m1" is recorded 0 times', ({ events }) => ({ events: events.slice(1) })],
  ['message "m1" is answered 2 times', ({ events }) => ({ events: [...events, events[1] as Event] })],
  ['the memory has these entries of the user: none', () => ({ memory: [] })],
  ['"note for m7" was recalled 0 times', ({ events }) => ({ events: events.filter(({ memory }) => memory === undefined) })],
  ['it has 6 turns', ({ turns }) => ({ turns: turns.slice(1) })],
  ['message "m2" was answered in turn 3', ({ answeredIn }) => ({ answeredIn: { ...answeredIn, m2: 3 } })],
  ['the message at the limit was refused with "none"', () => ({ refusal: 'none' })],
  ['while a call waited, it said that it is idle and waits for: nothing', () => ({ waiting: { status: 'idle', waitingFor: [] } })],
  ['"look_up m2" was done with 0 idempotency keys', ({ effects }) => ({ effects: effects.slice(1) })],
  [
    'the answer at "told callModel 1" was asked for 3 times, in flight at the kill',
    ({ asks }) => ({ asks: asks.map((ask) => ({ ...ask, times: 3 })) }),
  ],
])('"%s" is reported for a session with this problem', (problem, broken) => {
  const record = recordOf();
  const problems = pointProblems(undisturbed, HIT, { ...record, ...broken(record) });
  expect(problems.map((text) => text.split('\n')[0])).toContain(problem);
});

test('every sample of its points wakes it, lets it sleep, switches and refreshes it, and changes its memory', () => {
  const points = [...POINTS, ...NAMED_POINTS];
  const [workers, servers] = [sampleOfSession(points, 'worker'), sampleOfSession(points, 'server')];
  expect(workers).toEqual(expect.arrayContaining([...NAMED_POINTS]));
  expect(servers).toEqual(expect.arrayContaining([...NAMED_POINTS]));
  expect([workers.length, servers.length]).toEqual([NAMED_POINTS.length + 6, NAMED_POINTS.length + 3]);
});
