import { expect, test } from 'vitest';
import type { Handler } from '../../../src/server/index.ts';
import { FakeChat } from '../ai-sdk/fake-chat.ts';
import { asks, ended, says, textPiece } from '../ai-sdk/recorded-turn.ts';
import { checkedHandler } from '../checked-handler.ts';
import { answer, send } from '../requests.ts';

const PATH = '/v1/agents/clerk/chat';
const QUESTION = { id: 'c1', messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }] };

/** A service that checks its responses, with a chat that has begun a turn. */
async function chatOf(): Promise<{ chat: FakeChat; handler: Handler }> {
  const chat = new FakeChat();
  chat.onRequest = (name) => {
    if (name !== 'send') return;
    chat.beginTurn();
    chat.publish(asks(0, 'Hi'), textPiece('e1', 'Hel'));
  };
  return { chat, handler: await checkedHandler(chat.client()) };
}

/** Ends the turn with its answer. */
function answers(chat: FakeChat): void {
  chat.publish(says(1, 'e1', 'Hello'), ended(2));
}

test('the answer of a chat fits the document, for the requesting page and for a later one', async () => {
  const { chat, handler } = await chatOf();
  const posted = await send(handler, 'POST', PATH, { body: QUESTION });
  const resumed = await send(handler, 'GET', `${PATH}/c1/stream`);
  answers(chat);
  for (const response of [posted, resumed]) {
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text).toContain('"delta":"Hel"');
    expect(text).toMatch(/data: \[DONE\]\n\n$/);
  }
});

test('a chat that gives no answer is resumed without a body', async () => {
  const { chat, handler } = await chatOf();
  expect((await send(handler, 'GET', `${PATH}/c1/stream`)).status).toBe(204);
  const posted = await send(handler, 'POST', PATH, { body: QUESTION });
  answers(chat);
  await posted.text();
  expect((await send(handler, 'GET', `${PATH}/c1/stream`)).status).toBe(204);
});

test('a stopped chat names the stopped turn', async () => {
  const { handler } = await chatOf();
  expect((await answer(handler, 'POST', `${PATH}/c1/stop`)).status).toBe(404);
  const posted = await send(handler, 'POST', PATH, { body: QUESTION });
  expect(await answer<object>(handler, 'POST', `${PATH}/c1/stop`)).toMatchObject({
    status: 200,
    body: { version: 1, interrupted: true, turn: 1 },
  });
  await posted.body?.cancel();
});
