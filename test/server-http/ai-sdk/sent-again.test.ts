import { expect, test } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import type { StreamItem } from '../../../src/client/index.ts';
import type { Handler, Problem } from '../../../src/server/index.ts';
import { FakeChat, fetchFrom, pageOf, serviceOf, textOf } from './fake-chat.ts';
import { asks, ended, says } from './recorded-turn.ts';

const hi = { id: 'm1', role: 'user' as const, parts: [{ type: 'text' as const, text: 'Hi' }] };

/** A chat that has accepted the message `m1` before, with that record. */
function chatWith(...items: StreamItem[]): FakeChat {
  const session = new FakeChat();
  session.isNew = false;
  session.turns = items.filter((one) => one.type === 'event' && one.event.turn !== undefined).length;
  session.publish(...items);
  session.receipt = { id: 'm1', status: 'queued', queued: 1, offset: 0, beforeStep: 1, turn: 1 };
  return session;
}

/** Posts the message `m1` as the AI SDK does to resend it, or after it was edited. */
async function posted(handler: Handler, text: string): Promise<Response> {
  const messages = [{ ...hi, parts: [{ type: 'text', text }] }];
  const body = JSON.stringify({ id: 'c1', messages, messageId: 'm1', trigger: 'submit-message' });
  return fetchFrom(handler)('/v1/agents/clerk/chat', { method: 'POST', body, headers: { 'content-type': 'application/json' } });
}

test('`sendMessage()` sends a message that the page has begun with', async () => {
  const session = new FakeChat();
  session.onRequest = () => {
    session.beginTurn();
    session.publish(asks(0, 'Hi'), says(1, 'e1', 'Hello'), ended(2));
  };
  const page = pageOf(serviceOf(session), { messages: [hi] });
  await page.sendMessage();
  expect(page.status).toBe('ready');
  expect(textOf(page)).toBe('Hello');
});

test('a message that was accepted gets the same answer again, and is refused with another text', async () => {
  const session = chatWith(asks(0, 'Hi'), says(1, 'e1', 'Hello'), ended(2), asks(3, 'Bye'), says(4, 'e2', 'Good bye'), ended(5, 2));
  const handler = serviceOf(session);
  expect(await (await posted(handler, 'Hi')).text()).toContain('"Hello"');
  session.onRequest = () => {
    throw new LonghaulError('key_reused', 'Run "c1" has accepted another request with the id "m1"');
  };
  const edited = await posted(handler, 'Bye');
  expect(edited.status).toBe(422);
  expect(((await edited.json()) as Problem).errors).toMatchObject([{ pointer: '#/messageId' }]);
});

test('a message that its turn has left to the next one is looked for there', async () => {
  const session = chatWith(asks(0, 'Before'), ended(1, 1, { unanswered: ['m1'] }), asks(2, 'Hi'), says(3, 'e2', 'Hello'), ended(4, 2));
  const found = await posted(serviceOf(session), 'Hi');
  expect(found.status).toBe(200);
  await found.body?.cancel();
});
