import { expect, test } from 'vitest';
import { exchangeLines, exchangesOf, raiseHint, sessionLines } from '../../../src/cli/commands/sessions.ts';
import { sessionFacts, stepsOfNewestTurn } from '../../../src/cli/render/run-view.ts';
import { chatEventLines, refreshText, turnText } from '../../../src/cli/render/event-lines.ts';
import type { SessionListEntry } from '../../../src/client/index.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import type { Event, RunRecord, TurnNote } from '../../../src/core/domain/record.ts';
import { newStep } from '../../../src/core/domain/tool-calls.ts';
import type { SessionLimitReached, SessionView } from '../../../src/core/domain/sessions.ts';
import { commandIo } from '../command-io.ts';
import { AT } from '../pending-approvals.ts';

const plain = commandIo().io.output;
const completed: TurnNote = { number: 1, status: 'completed', stopReason: 'final_answer' };

function event(author: string, content: ContentItem[], more: Partial<Event> = {}): Event {
  return { id: 'e', executionId: 'talk-1', timestamp: AT, author, content, ...more };
}

const said = (role: 'user' | 'assistant', content: string): Event =>
  event(role === 'user' ? 'user' : 'clerk', [{ type: 'message', role, content }]);
const ended = (turn: TurnNote): Event => event('clerk', [], { turn });

const ENDS: [TurnNote, string][] = [
  [completed, 'turn 1 ended: completed'],
  [{ number: 2, status: 'limit_reached', stopReason: 'token_budget' }, 'turn 2 ended: limit_reached (token_budget)'],
  [{ number: 3, status: 'cancelled', stopReason: 'cancelled' }, 'turn 3 ended: cancelled'],
  [{ number: 4, status: 'error', stopReason: 'error', error: 'no key' }, 'turn 4 ended: error: no key'],
  [{ number: 5, status: 'error', stopReason: 'guardrail', error: 'blocked' }, 'turn 5 ended: error (guardrail): blocked'],
];

test.each(ENDS)('the end %j is described', (note, text) => {
  expect(turnText(note).text).toBe(text);
});

test('a new resolution of the agent is shown with its digest, and a failed one with the reason', () => {
  expect(refreshText({ digest: 'abc' }).text).toBe('the agent is resolved again: digest abc');
  expect(refreshText({ failed: { code: 'unknown_agent', message: 'No agent "clerk"' } }).text).toBe(
    'the agent could not be resolved again, and stays as it was (unknown_agent): No agent "clerk"',
  );
});

test('exchanges have the messages, the last text of the model and the end of each turn, without a turn that began before', () => {
  const failed: TurnNote = { number: 3, status: 'error', stopReason: 'error', error: 'no key' };
  const events = [
    said('assistant', 'cut off'),
    ended(completed),
    said('user', 'hi'),
    said('assistant', 'I look.'),
    said('user', 'and \u001b[2Jquick'),
    said('assistant', 'Here.\nIt is.'),
    ended({ ...completed, number: 2 }),
    event('clerk', [{ type: 'message', role: 'user', content: 'a summary' }], {
      compaction: { kind: 'summary' } as unknown as NonNullable<Event['compaction']>,
    }),
    said('user', 'more'),
    ended(failed),
    said('user', 'now'),
  ];
  const exchanges = exchangesOf(events);
  expect(exchanges).toMatchObject([
    { messages: ['hi', 'and \u001b[2Jquick'], end: { number: 2 } },
    { answer: '', end: failed },
    { messages: ['now'] },
  ]);
  expect(exchanges.map((one) => exchangeLines(one, plain))).toEqual([
    ['> hi', '> and \ufffd[2Jquick', 'Here.', 'It is.'],
    ['> more', '(turn 3 ended: error: no key)'],
    ['> now'],
  ]);
});

test('what a model has read beside the message, such as entries of its memory, is not shown as said by the user', () => {
  const remembered = event('memory', [{ type: 'message', role: 'user', content: 'Remembered: likes tea' }]);
  expect(exchangesOf([said('user', 'hi'), remembered, said('assistant', 'Tea?'), ended(completed)])).toMatchObject([
    { messages: ['hi'], answer: 'Tea?' },
  ]);
});

test('events of a conversation show texts, calls and results, messages of others, and ends without an answer', () => {
  const call: ContentItem = { type: 'tool_call', toolCallId: 'c1', name: 'refund', arguments: { amount: 5, to: '\u202edlo' } };
  const result: ContentItem = {
    type: 'tool_result',
    toolCallId: 'c1',
    name: 'refund',
    status: 'error',
    content: ['no\u001b]0;x\u0007\nmoney'],
  };
  expect(chatEventLines(event('clerk', [{ type: 'message', role: 'assistant', content: 'I pay.\nNow.' }, call]), plain)).toEqual([
    'I pay.',
    'Now.',
    '  → refund {"amount":5,"to":"\\u202edlo"}',
  ]);
  expect(chatEventLines(event('clerk', [result]), plain)).toEqual(['  ← error: no\ufffd]0;x\ufffd money']);
  expect(chatEventLines(said('user', 'me too'), plain)).toEqual(['user: me too']);
  expect(
    chatEventLines(event('clerk', [{ type: 'message', role: 'assistant', content: 'Well, I' }], { interrupted: true }), plain),
  ).toEqual(['Well, I', '  (interrupted)']);
  expect(chatEventLines(ended(completed), plain)).toEqual([]);
  expect(chatEventLines(ended({ ...completed, status: 'cancelled', stopReason: 'cancelled' }), plain)).toEqual([
    '  turn 1 ended: cancelled',
  ]);
});

const view: SessionView = {
  title: 'A broken\nlamp',
  turns: 3,
  spent: { stepsUsed: 7, usage: { ...noUsage(), totalTokens: 900, costUsd: 0.25 }, toolCallsTotal: 1, toolCallsByName: { refund: 1 } },
  limits: { turns: 10, totalTokens: 200_000, costUsd: null, deadlineMs: null },
  idleSince: AT,
};

/** The facts that have a value, as printed. */
function given(session: SessionView): unknown[] {
  return sessionFacts(session, AT).filter(([, value]) => value !== undefined);
}

test('the facts of a session are its title, its turns, and what all turns have used of its limits', () => {
  expect(given(view)).toEqual([
    ['Title', 'A broken lamp'],
    ['Turns', '3 of at most 10, the last one ended at 2026-01-02T03:04:05Z'],
    ['Used', '900 of at most 200000 tokens, $0.25, 7 steps, 1 tool call'],
  ]);
  const { title: _, ...untitled } = view;
  const limited = {
    ...untitled,
    turn: 3,
    limits: { turns: null, totalTokens: null, costUsd: 2, deadlineMs: 3_600_000 },
    limitReached: { limit: 'costUsd', message: '$2 are spent' } as const,
  };
  expect(given(limited)).toEqual([
    ['Turns', '3, turn 3 is running'],
    ['Used', '900 tokens, $0.25 of at most $2.00, 7 steps, 1 tool call'],
    ['Deadline', '2026-01-02T04:04:05Z'],
    ['Limit', '$2 are spent: messages are refused until the limit is raised'],
  ]);
});

test('a session at a limit shows the command that raises exactly that limit above the usage', () => {
  const hint = (limit: SessionLimitReached['limit'], more: Partial<SessionView> = {}): string | undefined =>
    raiseHint('talk 1', { ...view, ...more, limitReached: { limit, message: 'used' } }, { namespace: 'shop' }, 'longhaul');
  expect(hint('turns')).toBe("longhaul session raise 'talk 1' --turns 20 --namespace shop");
  expect(hint('totalTokens')).toBe("longhaul session raise 'talk 1' --tokens 400000 --namespace shop");
  expect(hint('totalTokens', { limits: { ...view.limits, totalTokens: 100 } })).toContain(' --tokens 1800 ');
  expect(hint('costUsd', { limits: { ...view.limits, costUsd: 0.5 } })).toContain(' --cost 1 ');
  expect(hint('costUsd', { limits: { ...view.limits, costUsd: 0.01 } })).toContain(' --cost 0.5 ');
  // Limits that are not reached do not change.
  expect(hint('deadline', { turns: 10 })).toBe("longhaul session raise 'talk 1' --deadline none --namespace shop");
  expect(raiseHint('talk 1', view, {}, 'longhaul')).toBeUndefined();
});

test('the steps of the newest turn are counted by themselves', () => {
  const step = (number: number): RunRecord => ({ type: 'step', index: number - 1, ...newStep(number) });
  const end: RunRecord = { type: 'event', offset: 0, ...ended(completed) };
  expect(stepsOfNewestTurn([step(1), end, step(2), step(3)], { goesOn: true })).toBe(2);
  expect(stepsOfNewestTurn([step(1), end, step(2), step(3), end], { goesOn: false })).toBe(2);
});

test('sessions are a table, with columns for titles and waiting calls only if there are some', () => {
  const entry: SessionListEntry = { sessionId: 'talk-1', agentName: 'clerk', status: 'idle', waitingFor: [], startTime: AT, endTime: null };
  expect(sessionLines([entry], plain)).toEqual(['SESSION  AGENT  STATUS  STARTED', 'talk-1   clerk  idle    2026-01-02T03:04:05Z']);
  const [header, line] = sessionLines(
    [{ ...entry, status: 'pending_confirmation', title: 'A\u001b[2J\nlamp', waitingFor: ['refund'] }],
    plain,
  );
  expect(header).toMatch(/WAITING FOR +TITLE$/);
  expect(line).toMatch(/pending_confirmation .* refund +A\ufffd\[2J lamp$/);
});
