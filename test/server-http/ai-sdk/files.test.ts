import { safeValidateUIMessages } from 'ai';
import { expect, test } from 'vitest';
import type { StreamItem } from '../../../src/client/index.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import type { Handler } from '../../../src/server/index.ts';
import { FakeChat, pageOf, serviceOf, textOf } from './fake-chat.ts';
import { asks, built, call, encoded, ended, guarded, partsOf, recorded, result, textPiece } from './recorded-turn.ts';

const spilledOf = (letter: string) => ({ store: 'file', claim: { key: 'k' }, bytes: 9, sha256: letter.repeat(64) });
const drawn = (text: string, letter = 'a'): ContentItem => ({
  type: 'message',
  role: 'assistant',
  content: [
    ...(text === '' ? [] : [{ type: 'text' as const, text }]),
    { type: 'image', mediaType: 'image/png', spilled: spilledOf(letter) },
  ],
});
const file = (letter: string, prefix = '', run = 'chat-1') => ({
  type: 'file',
  mediaType: 'image/png',
  url: `${prefix}/v1/runs/${run}/files/${letter.repeat(64)}`,
});

test('a file that a model has made is a part of the message, after its text, however the text was streamed', async () => {
  const answer = recorded(0, 'e1', [drawn('The Moon.')], { usage: null });
  for (const items of [
    [answer, ended(1)],
    [textPiece('e1', 'The '), answer, ended(1)],
  ]) {
    const { message, errors } = await built(encoded(items));
    expect(errors).toEqual([]);
    expect(partsOf(message).slice(1)).toEqual([{ type: 'text', text: 'The Moon.', state: 'done' }, file('a')]);
  }
});

test('a file before calls, and one without a text, are parts of their steps', async () => {
  const step = recorded(0, 'e1', [drawn('', 'a'), call('c1')], { usage: null });
  const items = [step, recorded(1, 'r1', [result('c1', ['found'])]), recorded(2, 'e2', [drawn('', 'b')], { usage: null }), ended(3)];
  const { message } = await built(encoded(items, { prefix: '/api', sessionId: 'a b/ä' }));
  const parts = partsOf(message).filter((part) => (part as { type: string }).type === 'file');
  expect(parts).toEqual([file('a', '/api', 'a%20b%2F%C3%A4'), file('b', '/api', 'a%20b%2F%C3%A4')]);
});

test('a file that no guardrail has passed is not shown', () => {
  const blocked = recorded(1, 'b', [], { guardrails: { findings: [], blocked: [0] } });
  const ends = ended(2, 1, { status: 'error', stopReason: 'guardrail' });
  const answer = recorded(0, 'e1', [drawn('The Moon.')], { usage: null });
  expect(encoded(guarded([answer, blocked, ends])).filter(({ type }) => type === 'file')).toEqual([]);
});

test('a file that a user names as one of a model is not shown', async () => {
  const said: ContentItem = { type: 'message', role: 'user', content: [{ type: 'image', spilled: spilledOf('a') }] };
  const { messages } = await messagesAfter([
    recorded(0, 'u', [said], { author: 'user' }),
    recorded(1, 'e', [drawn('It.')], { usage: null }),
  ]);
  expect(messages.map(({ parts }) => parts.map(({ type }) => type))).toEqual([[], ['step-start', 'text', 'file']]);
});

test('a page that opens the chat later has the file, too, in messages that the AI SDK accepts', async () => {
  const { messages, service, session } = await messagesAfter([asks(0, 'Draw'), recorded(1, 'e1', [drawn('The Moon.')], { usage: null })]);
  expect(messages[1]?.parts.slice(1)).toEqual([{ type: 'text', text: 'The Moon.', state: 'done' }, file('a', '', 'c1')]);
  expect(await safeValidateUIMessages({ messages })).toMatchObject({ success: true });
  const page = pageOf(service, { messages: messages as never });
  session.onRequest = () => {
    session.beginTurn();
    session.publish(asks(3, 'Again'), recorded(4, 'e2', [drawn('Here.', 'b')], { usage: null }), ended(5, 2));
  };
  await page.sendMessage({ text: 'Again' });
  expect(textOf(page)).toBe('Here.');
  expect(page.messages.at(-1)?.parts.at(-1)).toMatchObject(file('b', '', 'c1'));
});

interface Read {
  messages: { parts: { type: string }[] }[];
  service: Handler;
  session: FakeChat;
}

/** Reads the messages of a chat whose only turn has these events. */
async function messagesAfter(events: readonly StreamItem[]): Promise<Read> {
  const session = new FakeChat();
  session.isNew = false;
  session.beginTurn();
  session.publish(...events, ended(events.length));
  const service = serviceOf(session);
  const { messages } = (await (await service(new Request('http://localhost/v1/agents/clerk/chat/c1'))).json()) as Read;
  return { messages, service, session };
}
