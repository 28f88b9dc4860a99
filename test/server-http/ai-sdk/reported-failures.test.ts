import { expect, test } from 'vitest';
import { FakeChat, fetchFrom, serviceOf } from './fake-chat.ts';
import { asks } from './recorded-turn.ts';

const PATH = '/v1/agents/clerk/chat/c1/stream';

test('a failure inside the stream of a chat is reported once, and a reader that leaves is not a failure', async () => {
  const reported: unknown[] = [];
  const session = new FakeChat();
  session.isNew = false;
  session.beginTurn();
  session.publish(asks(0, 'Hi'));
  const get = fetchFrom(serviceOf(session, {}, { onError: (error, { path }) => void reported.push([(error as Error).message, path]) }));
  await (await get(PATH)).body?.cancel();
  const failing = (await get(PATH)).text();
  await expect.poll(() => session.open).toBe(1);
  session.fail(new Error('the disk is full'));
  await expect(failing).resolves.toContain('"type":"error"');
  expect(reported).toEqual([['the disk is full', PATH]]);
});
