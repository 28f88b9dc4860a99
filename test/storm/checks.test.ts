import { expect, test } from 'vitest';
import type { Decision } from '../../src/core/domain/approvals.ts';
import type { ContentItem } from '../../src/core/domain/content.ts';
import type { Event } from '../../src/core/domain/record.ts';
import { type Answer, approvalChecks, type ApprovalsRecord } from './approvals-storm.ts';
import { busyChecks, messagesChecks, type MessagesRecord } from './messages-storm.ts';
import { type Check, checkLines, closingLine } from '../processes/command.ts';
import type { Effect } from './processes/ledger.ts';

const AT = '2026-01-01T00:00:01.000Z';

function decision(type: 'approve' | 'reject', callId: string, id: string): Decision {
  return { id, type, callId, toolName: 'pay', digest: 'd', by: id, source: 'update', at: AT };
}

function effect(runId: string, number: number, more: Partial<Effect> = {}): Effect {
  return { tool: 'pay', runId, number, key: `${runId}/${number}`, retry: 0, at: 0, ...more };
}

function event(author: string, content: ContentItem[], more: Partial<Event> = {}): Event {
  return { id: 'e', executionId: 'run', timestamp: '1970-01-01T00:00:00.000Z', author, content, ...more };
}

const said = (text: string): Event => event('user', [{ type: 'message', role: 'user', content: text }]);

const approved = decision('approve', 'pay-1', 'ann-0');
const rejected = decision('reject', 'pay-1', 'bob-1');
const sent = { runId: 'payer-0', callId: 'pay-1', digest: 'd', type: 'approve', id: 'ann-0' } as const;
const receipt = { type: 'receipt', receipt: { version: 1, status: 'decided', decision: approved } } as const;
const refusal = {
  type: 'refused',
  code: 'already_decided',
  message: `Call "pay-1" was approved by "ann-0" at ${AT} (decision "ann-0")`,
} as const;
const won: Answer = { sent, ms: 1, outcome: receipt };
const lost: Answer = { sent: { ...sent, type: 'reject', id: 'bob-0' }, ms: 1, outcome: refusal };

const storm: ApprovalsRecord = {
  runs: [
    { runId: 'payer-0', status: 'completed', output: 'paid 0', decisions: [approved] },
    { runId: 'payer-1', status: 'completed', output: 'User denied the tool execution.', decisions: [rejected] },
  ],
  answers: [won, lost],
  effects: [effect('payer-0', 0)],
  waited: 2,
};

const beforeReading: MessagesRecord = {
  runId: 'run',
  sent: [['a1', 'a2'], ['b1']],
  verdicts: new Map([
    [1, 'approve'],
    [2, 'reject'],
  ]),
  errors: [],
  status: 'completed',
  executions: 3,
  leastExecutions: 3,
  events: [
    said('a1'),
    said('b1'),
    said('a2'),
    event('ann', [], { decision: decision('approve', 'pay-1', 'x') }),
    event('ann', [], { decision: decision('reject', 'pay-2', 'y') }),
  ],
  recorded: [],
  effects: [effect('run', 1)],
};
const sound: MessagesRecord = { ...beforeReading, recorded: beforeReading.events };

/** The names of the checks that do not hold. */
function failures(checks: Check[]): string[] {
  return checks.filter(({ problems }) => problems.length > 0).map(({ name }) => name);
}

test('a storm with one decision per run and a true answer for every client passes all checks', () => {
  expect(failures(approvalChecks(storm))).toEqual([]);
  expect(failures(messagesChecks(sound))).toEqual([]);
});

test.each<[string, Partial<ApprovalsRecord>]>([
  ['all runs wait at once', { waited: 1 }],
  ['no run is lost: all complete', { runs: [{ ...storm.runs[0], status: 'error' } as never, storm.runs[1] as never] }],
  [
    'each run sees exactly one decision',
    { runs: [{ ...storm.runs[0], decisions: [approved, rejected] } as never, storm.runs[1] as never] },
  ],
  ['the model reads the decision', { runs: [{ ...storm.runs[0], output: 'paid 7' } as never, storm.runs[1] as never] }],
  ['an approved call takes effect once, a rejected call never', { effects: [] }],
  ['an approved call takes effect once, a rejected call never', { effects: [...storm.effects, effect('payer-1', 1)] }],
  ['an approved call takes effect once, a rejected call never', { effects: [...storm.effects, effect('payer-0', 0, { key: 'another' })] }],
  ['an approved call takes effect once, a rejected call never', { effects: [...storm.effects, ...storm.effects] }],
  ['an approved call takes effect once, a rejected call never', { effects: [...storm.effects, effect('payer-9', 9)] }],
  ['every client gets a truthful answer', { answers: [{ ...won, outcome: refusal }] }],
  ['every client gets a truthful answer', { answers: [{ ...lost, outcome: receipt }] }],
  ['every client gets a truthful answer', { answers: [{ ...lost, outcome: { ...refusal, code: 'wait_timeout' } }] }],
  ['every client gets a truthful answer', { answers: [{ ...lost, outcome: { ...refusal, message: 'It was rejected by somebody' } }] }],
])('"%s" does not hold for a record that violates it (%#)', (name, broken) => {
  expect(failures(approvalChecks({ ...storm, ...broken }))).toEqual([name]);
});

test('an attempt that a killed worker could not report, and its repetition, are one effect', () => {
  expect(failures(approvalChecks({ ...storm, effects: [...storm.effects, effect('payer-0', 0, { retry: 1 })] }))).toEqual([]);
});

const withEvents = (events: Event[]): Partial<MessagesRecord> => ({ events, recorded: events });

test.each<[string, Partial<MessagesRecord>]>([
  ['every client is answered', { errors: ['no'] }],
  ['the run completes', { status: 'error' }],
  ['no message is lost', withEvents(sound.events.slice(1))],
  ['no message is doubled', withEvents([...sound.events, said('b1')])],
  ['the messages of each client are in its order', withEvents([said('a2'), ...sound.events.filter((_, index) => index !== 2)])],
  ['each decision is taken once', withEvents(sound.events.slice(0, -1))],
  ['each decision is taken once', withEvents([...sound.events, ...sound.events.slice(-1)])],
  ['an approved call takes effect once, a rejected call never', { effects: [] }],
  ['the run continues as new', { executions: 2 }],
  ['the record is the same without a worker', { recorded: sound.events.toReversed() }],
])('"%s" does not hold for a run with messages that violates it (%#)', (name, broken) => {
  expect(failures(messagesChecks({ ...sound, ...broken }))).toEqual([name]);
});

test('a busy run must refuse as busy, run its call once, and still accept decisions', () => {
  const work = effect('run', 0, { tool: 'work', at: Date.parse(AT) + 1 });
  const record = { ...sound, effects: [...sound.effects, work] };
  const refused = { accepted: 1_600, refusal: 'accepts no requests until it has continued as new' };
  expect(failures(busyChecks(record, refused))).toEqual([]);
  expect(failures(busyChecks(record, { accepted: 2_000 }))).toHaveLength(1);
  expect(failures(busyChecks({ ...record, effects: [...record.effects, work] }, refused))).toHaveLength(1);
  expect(failures(busyChecks({ ...record, effects: [{ ...work, at: 0 }] }, refused))).toHaveLength(1);
});

test('the report names each case that violates a check, and counts checks', () => {
  const checks = [
    { name: 'one', problems: [] },
    { name: 'two', problems: ['a', 'b'] },
  ];
  expect(checks.flatMap((check) => checkLines('part', check))).toEqual(['ok part: one', 'FAILED part: two', '    a', '    b']);
  expect(closingLine(checks)).toBe('1 passed, 1 failed');
});
