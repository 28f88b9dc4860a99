import { safeValidateUIMessages, type UIMessage } from 'ai';
import * as fc from 'fast-check';
import { expect, it, test } from 'vitest';
import type { StreamItem } from '../../../src/client/index.ts';
import { earlierMessages } from '../../../src/server/protocols/ai-sdk/earlier-messages.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer } from '../requests.ts';
import { FakeChat } from './fake-chat.ts';
import { eventsOf, steps } from './generated-turn.ts';
import { asks, built, call, decided, encoded, ended, guarded, recorded, result, says } from './recorded-turn.ts';
import { propertyRuns } from '../../property-runs.ts';

interface Messages {
  messages: UIMessage[];
  before?: number;
}

const PATH = '/v1/agents/clerk/chat/chat-1';

/** A chat with these events, whose turns have ended. */
function chatWith(turns: number, ...items: StreamItem[]): FakeChat {
  const session = new FakeChat();
  session.publish(...items);
  session.turns = turns;
  session.isNew = false;
  return session;
}

async function read(session: FakeChat, query = ''): Promise<Messages> {
  const handler = await checkedHandler(session.client());
  const { status, body } = await answer<Messages>(handler, 'GET', `${PATH}${query}`);
  expect(status).toBe(200);
  // The AI SDK has no messages for an empty chat.
  const isValid = body.messages.length === 0 || (await safeValidateUIMessages({ messages: body.messages })).success;
  expect(isValid).toBe(true);
  return body;
}

it('is the message that the AI SDK builds from the stream of the turn', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      const items = eventsOf(all);
      const events = items.map(({ event }) => event);
      const run = { runId: 'chat-1', context: async () => ({ from: 0, events, total: events.length, currentStep: 0 }) };
      const { messages } = await earlierMessages(run as never, { first: 1, last: 1, known: events.length });
      const { message } = await built(encoded(items));
      const { cursor: _, ...metadata } = (message?.metadata ?? {}) as { cursor?: string };
      expect(messages.at(-1)).toEqual(JSON.parse(JSON.stringify({ ...message, metadata })));
    }),
    { numRuns: propertyRuns(200) },
  );
}, 60_000);

test('the messages of a chat are the messages of its turns, with calls, decisions and results', async () => {
  const session = chatWith(
    2,
    asks(0, 'Refund it'),
    says(1, 'e1', 'One moment', call('c1', { order: 42 }, 'refund')),
    decided(2, { type: 'approve', callId: 'c1' }),
    recorded(3, 'r1', [result('c1', ['done'])]),
    says(4, 'e2', 'It is refunded'),
    ended(5, 1),
    recorded(6, 'u2', [{ type: 'message', role: 'user', content: [{ type: 'image', data: 'AAAA', mediaType: 'image/png' }] }], {
      author: 'user',
    }),
    says(7, 'e3', 'A picture'),
    ended(8, 2),
  );
  const { messages, before } = await read(session);
  expect(before).toBeUndefined();
  expect(messages.map(({ role, id }) => [role, id])).toEqual([
    ['user', 'user-0'],
    ['assistant', 'chat-1-turn-1'],
    ['user', 'u2'],
    ['assistant', 'chat-1-turn-2'],
  ]);
  expect(messages[1]?.parts).toMatchObject([
    { type: 'step-start' },
    { type: 'text', text: 'One moment' },
    { type: 'tool-refund', state: 'output-available', input: { order: 42 }, output: 'done', approval: { approved: true } },
    { type: 'step-start' },
    { type: 'text', text: 'It is refunded' },
  ]);
  expect(messages[1]?.metadata).toMatchObject({ runId: 'chat-1', turn: 1, stopReason: 'final_answer' });
  expect(messages[2]?.parts).toEqual([{ type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,AAAA' }]);
});

test('a turn in progress has the message of the user, and the stream has the rest', async () => {
  const session = chatWith(1, asks(0, 'Hi'), says(1, 'e1', 'Hello'), ended(2, 1), asks(3, 'And now?'), says(4, 'e2', '', call('c1')));
  session.beginTurn();
  const { messages } = await read(session);
  expect(messages.map(({ id }) => id)).toEqual(['user-0', 'chat-1-turn-1', 'user-3']);
});

test('a long chat is read in pages of turns, the newest first, and a chat that does not exist is empty', async () => {
  const items = [1, 2, 3, 4, 5].flatMap((turn) => {
    const at = (turn - 1) * 3;
    return [asks(at, `Q${turn}`), says(at + 1, `e${turn}`, `A${turn}`), ended(at + 2, turn)];
  });
  const session = chatWith(5, ...items);
  const pages: Messages[] = [await read(session, '?limit=2')];
  for (let page = pages[0]; page?.before !== undefined; page = pages.at(-1))
    pages.push(await read(session, `?limit=2&before=${page.before}`));
  const texts = pages.map(({ messages }) =>
    messages.flatMap(({ parts }) => parts.flatMap((part) => (part.type === 'text' ? [part.text] : []))),
  );
  expect(texts).toEqual([
    ['Q4', 'A4', 'Q5', 'A5'],
    ['Q2', 'A2', 'Q3', 'A3'],
    ['Q1', 'A1'],
  ]);
  expect(await read(new FakeChat())).toEqual({ messages: [] });
});

const unread = (id: string, content: string) => ({ id, content, timestamp: '2026-11-26T10:00:00.000Z' });

test('a message that no model has read, such as that of a chat whose first turn could not begin, is in the list under its own id', async () => {
  const failed = chatWith(0);
  Object.assign(failed, { isRun: true, status: 'error', unread: [unread('m1', 'Hi')] });
  expect(await read(failed)).toEqual({
    messages: [{ id: 'm1', role: 'user', metadata: { runId: 'chat-1', turn: 1, unread: true }, parts: [{ type: 'text', text: 'Hi' }] }],
  });
  expect(await read(failed, '?before=1')).toEqual({ messages: [] });
});

test('a message that waits until the model has made its step follows that of the turn in progress, and is on no earlier page', async () => {
  const session = chatWith(1, asks(0, 'Hi'), says(1, 'e1', 'Hello'), ended(2, 1), asks(3, 'And now?'));
  session.beginTurn();
  session.unread = [unread('m3', 'Quickly, please')];
  expect((await read(session)).messages.map(({ id }) => id)).toEqual(['user-0', 'chat-1-turn-1', 'user-3', 'm3']);
  expect((await read(session, '?before=2')).messages.map(({ id }) => id)).toEqual(['user-0', 'chat-1-turn-1']);
});

test('the chat of another agent has no messages at the route of this one', async () => {
  const session = chatWith(1, asks(0, 'Hi'), says(1, 'e1', 'Hello'), ended(2, 1));
  expect((await read(session)).messages).toHaveLength(2);
  session.agentName = 'treasurer';
  expect(await read(session)).toEqual({ messages: [] });
});

test('an answer whose turn was stopped before the guardrails of the agent had passed it is not shown', async () => {
  const items = [asks(0, 'Hi'), says(1, 'e1', 'The secret'), ended(2, 1, { status: 'cancelled', stopReason: 'cancelled' })];
  const loaded = async (given: readonly StreamItem[]) => {
    const events = given.flatMap((one) => (one.type === 'event' ? [one.event] : []));
    const run = { runId: 'chat-1', context: async () => ({ from: 0, events, total: events.length, currentStep: 0 }) };
    return JSON.stringify(await earlierMessages(run as never, { first: 1, last: 1, known: events.length }));
  };
  expect(await loaded(items)).toContain('The secret');
  expect(await loaded(guarded(items))).not.toContain('The secret');
});
