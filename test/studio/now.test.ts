import { expect, test } from 'vitest';
import type { StatusView } from '../../studio/api-types.ts';
import { callWaits, waitsOf } from '../../studio/now.ts';

const START = '2026-11-01T00:00:00Z';
const at = (seconds: number): number => Date.parse(START) + seconds * 1_000;
const limits = { steps: 10, finalAttempt: false };
const usage = { promptTokens: 0, completionTokens: 0, totalTokens: 0, cachedTokens: 0, reasoningTokens: 0, llmCalls: 0 };

const view = (parts: Partial<StatusView>): StatusView => ({
  version: 1,
  runId: 'r',
  agentName: 'clerk',
  about: { agentName: 'clerk' },
  status: 'running',
  currentStep: 0,
  usage,
  toolCallsTotal: 0,
  toolCallsStarted: 0,
  events: 1,
  executions: 1,
  queued: 0,
  waitingFor: [],
  limits,
  startTime: START,
  ...parts,
});
const textsOf = (parts: Partial<StatusView>, isAsked = false): string[] =>
  waitsOf(view(parts), { now: at(60), isAsked }).map(({ text }) => text);
const clock = (iso: string): string =>
  textsOf({ archiving: { from: 0, through: 1, since: iso } })[0]?.replace(/^.*since (.*)\.$/, '$1') ?? '';

test('a run that is at work waits for nothing', () => {
  expect(textsOf({})).toEqual([]);
  expect(textsOf({ running: [{ name: 'callModel', attempt: 1 }], queued: 1 })).toEqual([]);
});

test('a run that no worker has begun says so, once it has had the time to begin', () => {
  const { limits: _, ...unbegun } = view({ events: 0 });
  expect(waitsOf(unbegun, { now: at(1), isAsked: false })).toEqual([]);
  expect(waitsOf(unbegun, { now: at(5), isAsked: false })).toMatchObject([
    { text: expect.stringMatching(/^No worker has begun it/), tone: 'warn' },
  ]);
});

test('a run whose task no worker takes says why, also if none has begun it', () => {
  const { limits: _, ...unbegun } = view({ events: 0 });
  const waitsForWorker = { why: 'no_worker' as const, taskQueue: 'desks', since: START, workers: 0 };
  expect(waitsOf({ ...unbegun, waitsForWorker }, { now: at(60), isAsked: false })).toEqual([
    { text: expect.stringMatching(/^No worker polls the task queue “desks”: it waits since .* until one does\.$/) as string, tone: 'warn' },
  ]);
  expect(textsOf({ waitsForWorker: { ...waitsForWorker, why: 'busy', workers: 2 } })).toEqual([
    expect.stringMatching(/are busy, or have ended/),
  ]);
});

test('each kind of wait is a sentence', () => {
  const until = '2026-11-01T06:00:00Z';
  expect(textsOf({ status: 'paused' })).toEqual(['It is paused: it continues when somebody resumes it.']);
  expect(textsOf({ status: 'idle' })).toEqual(['It waits for the next message.']);
  expect(textsOf({ status: 'pending_confirmation', waitingFor: ['refund', 'mail'] })).toEqual(['It waits for a decision: refund, mail.']);
  expect(textsOf({ status: 'pending_confirmation', waitingFor: ['refund'] }, true)).toEqual([]);
  expect(textsOf({ waitingChildren: ['r/1'] })).toEqual(['1 run below waits for a decision.']);
  const postponed = [{ callId: 'c', toolName: 'mail', until, reason: 'quiet hours until 07:00 (Europe/Berlin)' }];
  expect(textsOf({ postponed })).toEqual([`A call of mail waits until ${clock(until)}: quiet hours until 07:00 (Europe/Berlin).`]);
  expect([...callWaits(view({ postponed }), [{ callId: 'a' }])]).toEqual([
    ['a', 'Waits for a decision.'],
    ['c', `Waits until ${clock(until)}: quiet hours until 07:00 (Europe/Berlin).`],
  ]);
  const refused = { code: 'model_rate_limited', times: 3, nextAttemptAt: until, givesUpAt: until };
  expect(textsOf({ running: [{ name: 'callModel', attempt: 4, lastFailure: 'Too many requests', refused }] })).toEqual([
    `The model call: the provider has refused it 3 times (model_rate_limited), it is tried again at ${clock(until)}, given up at ${clock(until)}. Too many requests`,
  ]);
  const waitsForBatch = { collector: 'openai', since: until };
  expect(textsOf({ running: [{ name: 'askStep', attempt: 1, waitsForBatch }] })).toEqual([
    `The model call waits since ${clock(until)} for a batch of “openai”, which is not full yet.`,
  ]);
  expect(textsOf({ running: [{ name: 'refund', attempt: 2, lastFailure: 'The bank does not answer' }] })).toEqual([
    'The call of refund: attempt 2. The attempt before failed: The bank does not answer',
  ]);
  // A model call that the limits of its provider hold back.
  expect(textsOf({ running: [{ name: 'callModel', attempt: 1, lastFailure: 'Not sent yet: 100 requests a minute are used up' }] })).toEqual(
    ['The model call: attempt 1. Not sent yet: 100 requests a minute are used up'],
  );
  expect(textsOf({ running: [{ name: 'deploy', attempt: 1, progress: '3 of 5 hosts' }] })).toEqual(['The call of deploy: 3 of 5 hosts']);
  expect(textsOf({ missing: [{ kind: 'agent', name: 'clerk', until }] })).toEqual([
    `No worker has had agent “clerk” so far: it waits for one until ${clock(until)}.`,
  ]);
  expect(textsOf({ status: 'paused', queued: 2 })).toContain('2 messages wait to be read.');
});
