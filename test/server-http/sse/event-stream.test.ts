import { expect, it, vi } from 'vitest';
import { eventStream, type StreamMessage } from '../../../src/server/sse/event-stream.ts';

it('an idle stream is kept open by comments, and none of them listens to the message that is waited for', async () => {
  const waiting = new Promise<IteratorResult<StreamMessage>>(() => undefined);
  // Each listener of a promise that stays open stays in memory.
  const listen = vi.spyOn(waiting, 'then');
  const messages = (async function* none(): AsyncGenerator<StreamMessage> {})();
  messages.next = () => waiting;
  const reader = eventStream(messages, { commentMs: 1 }).body?.getReader();
  const chunks: string[] = [];
  for (let index = 0; index < 20; index += 1) chunks.push(new TextDecoder().decode((await reader?.read())?.value));
  expect(chunks.slice(1)).toEqual(Array.from({ length: 19 }, () => ': the stream goes on\n\n'));
  expect(listen.mock.calls.length).toBeLessThanOrEqual(1);
  await reader?.cancel();
});
