import { expect, test } from 'vitest';
import type { StreamItemContent } from '../../../src/client/stream/stream-item.ts';
import { fakeChat, type FakeChat, never, until } from './fake-chat.ts';

const taken = { send: () => Promise.resolve({ turn: 1 }), approvals: () => Promise.resolve({ status: 'running', pending: [] }) };

function event(id: string, more: object): object {
  return { id, executionId: 'talk-1', timestamp: '1970-01-01T00:00:00.000Z', author: 'clerk', content: [], ...more };
}

const says = (id: string, text: string, more: object = {}): object =>
  event(id, { content: [{ type: 'message', role: 'assistant', content: text }], usage: null, ...more });

const ends = (stopReason = 'final_answer'): object =>
  event('end', { turn: { number: 1, status: stopReason === 'final_answer' ? 'completed' : 'error', stopReason } });

const text = (eventId: string, piece: string): StreamItemContent => ({
  type: 'delta',
  step: 1,
  attempt: 1,
  eventId,
  delta: { type: 'text', text: piece },
});

/** A chat whose session streams and records these in order, one for each call of `next`. */
function chatWith(items: readonly StreamItemContent[], events: readonly object[]): { chat: FakeChat; record: () => void } {
  let record = (): void => undefined;
  const recorded = new Promise<void>((resolve) => (record = resolve));
  const chat = fakeChat(taken, {
    live: async function* live() {
      yield* items;
      await never();
    },
    events: async function* all() {
      await recorded;
      yield* events;
      await never();
    },
  });
  return { chat, record };
}

async function leave({ lines, exitCode }: FakeChat): Promise<void> {
  await lines.prompted();
  lines.press('end');
  await exitCode;
}

test('an answer is shown as it is written, once', async () => {
  const { chat, record } = chatWith([text('e1', 'The '), text('e1', 'Moon')], [says('e1', 'The Moon is far.'), ends()]);
  await chat.lines.enter('hello');
  await until(() => chat.kept.stdout().includes('The Moon'));
  expect(chat.kept.stdout()).toBe('The Moon');
  record();
  await leave(chat);
  expect(chat.kept.stdout()).toBe('The Moon is far.\n\n');
});

test('an answer that was not streamed is shown from its event', async () => {
  const { chat, record } = chatWith([], [says('e1', 'The Moon'), ends()]);
  await chat.lines.enter('hello');
  record();
  await leave(chat);
  expect(chat.kept.stdout()).toBe('The Moon\n\n');
});

test('calls come after the text of their response, and the next text after them', async () => {
  const call = { type: 'tool_call', toolCallId: 'c1', name: 'search', arguments: {} };
  const look = event('e1', { content: [{ type: 'message', role: 'assistant', content: 'I look.' }, call], usage: null });
  const found = event('r1', { content: [{ type: 'tool_result', toolCallId: 'c1', name: 'search', status: 'success', content: ['x'] }] });
  const { chat, record } = chatWith([text('e1', 'I look.'), text('e2', 'It is x')], [look, found, says('e2', 'It is x'), ends()]);
  await chat.lines.enter('hello');
  await until(() => chat.kept.stdout().includes('I look.'));
  record();
  await leave(chat);
  expect(chat.kept.stdout().split('\n').filter(Boolean)).toHaveLength(4);
  expect(chat.kept.stdout()).toMatch(/^I look\.\n {2}→ search \{\}\n/);
  expect(chat.kept.stdout().match(/It is x/g)).toHaveLength(1);
});

test.each([
  ['is shown once it has passed', [says('e1', 'The secret', { guarded: true }), ends()], true],
  [
    'is not shown if it is blocked',
    [
      says('e1', 'The secret', { guarded: true }),
      event('g', { guardrails: { findings: [{ name: 'topic', type: 'output', outcome: 'tripped', message: 'no' }], blocked: [0] } }),
      ends('guardrail'),
    ],
    false,
  ],
  ['is not shown if the turn is stopped before', [says('e1', 'The secret', { guarded: true }), ends('cancelled')], false],
  ['is not shown in part', [says('e1', 'The sec', { guarded: true, interrupted: true }), ends('cancelled')], false],
])('a guarded answer %s', async (_, events, isShown) => {
  const { chat, record } = chatWith([], events);
  await chat.lines.enter('hello');
  record();
  await leave(chat);
  expect(chat.kept.stdout().includes('The sec')).toBe(isShown);
});
