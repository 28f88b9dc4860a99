import { expect, test } from 'vitest';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { checkedHandler } from '../checked-handler.ts';
import { clientWithRun, send } from '../requests.ts';

const STATUS = { type: 'status', status: 'running', cursor: 'c1' };

/** Reads the stream of a run with these items by a checked handler. */
async function read(...items: object[]): Promise<string> {
  async function* stream(): AsyncGenerator<object> {
    yield* items;
  }
  return (await send(await checkedHandler(clientWithRun({ stream })), 'GET', '/v1/runs/r/stream')).text();
}

test('the checked handler passes on the items of a stream unchanged', async () => {
  expect(await read(STATUS, { type: 'gap', cursor: 'c2' })).toBe(
    'retry: 1000\n\nid: c1\nevent: status\ndata: {"type":"status","status":"running"}\n\nid: c2\nevent: gap\ndata: {"type":"gap"}\n\n',
  );
});

test.each<[string, object]>([
  ['has a type that the document does not name', { type: 'news', cursor: 'c' }],
  ['lacks a member', { type: 'status', cursor: 'c' }],
  ['has a member of another type', { type: 'status', status: 7, cursor: 'c' }],
  ['has a member that the document does not name', { ...STATUS, more: true }],
  [
    'has such a member further inside',
    { type: 'step', step: { step: 1, thought: null, toolCalls: [], usage: null, finishReason: 'stop', x: 1 } },
  ],
  ['has no cursor', { type: 'gap' }],
])('the checked handler breaks off a stream with an item that %s', async (_, item) => {
  await expect(read(STATUS, item)).rejects.toThrow(/to deeply equal/);
});

test('the checked handler checks the items of a stream as they arrive', async () => {
  async function* stream({ signal }: { signal: AbortSignal }): AsyncGenerator<object> {
    yield STATUS;
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)));
  }
  const { body } = await send(await checkedHandler(clientWithRun({ stream })), 'GET', '/v1/runs/r/stream');
  const reader = body?.pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  while (!text.includes('"running"')) text += (await reader?.read())?.value ?? '';
  await reader?.cancel();
  expect(text).toContain('id: c1');
});

test('a problem at the end of a stream is checked as a problem', async () => {
  async function* terminated(): AsyncGenerator<object> {
    yield STATUS;
    throw new LonghaulError('run_terminated', 'Run "r" was terminated');
  }
  const handler = await checkedHandler(clientWithRun({ stream: terminated }));
  expect(await (await send(handler, 'GET', '/v1/runs/r/stream')).text()).toContain(
    'event: problem\ndata: {"type":"https://github.com/longhaul-agents/longhaul/blob/main/docs/errors.md#',
  );
});

test('a stream with nothing after its cursor is answered without a body', async () => {
  async function* nothing(): AsyncGenerator<object> {}
  const handler = await checkedHandler(clientWithRun({ stream: nothing }));
  expect((await send(handler, 'GET', '/v1/runs/r/stream')).status).toBe(204);
});
