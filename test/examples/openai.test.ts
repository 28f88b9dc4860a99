import { expect, test } from 'vitest';
import { follow } from '../../examples/openai/follow.ts';
import type { Handler } from '../../src/server/index.ts';
import { openaiFor, served, ToldRun } from '../server-http/openai/served-run.ts';

/** A service whose connections break after this many pieces of a body. */
function breaking(handler: Handler, after: number): Handler {
  return async (request) => {
    const response = await handler(request);
    const reader = response.body?.getReader();
    let count = 0;
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        count += 1;
        if (count > after) return controller.error(new TypeError('terminated'));
        const { value, done } = (await reader?.read()) ?? { done: true };
        return done ? controller.close() : controller.enqueue(value);
      },
      cancel: () => reader?.cancel(),
    });
    return new Response(body, response);
  };
}

const run = new ToldRun()
  .delta('e1', 'Let me ')
  .delta('e1', 'look')
  .answer('e1', 'Let me look', { id: 'c1', name: 'search', arguments: { query: 'x' } })
  .toolResult('c1', 'found: x')
  .delta('e2', 'Here ')
  .delta('e2', 'it is')
  .answer('e2', 'Here it is')
  .end('Here it is');

test.each([2, 3, 5, 8, 1_000])('an answer is followed over connections that break after %i pieces', async (after) => {
  const openai = openaiFor(breaking(served(run).handler, after));
  let written = '';
  expect(await follow(openai, 'Find x', (text) => (written += text))).toBe('Here it is');
  expect(written).toBe('Let me look\nHere it is');
});

test('a refusal is not a cut-off answer', async () => {
  const openai = openaiFor(served(run, { authenticate: () => undefined }).handler);
  await expect(follow(openai, 'Find x', () => undefined)).rejects.toMatchObject({ status: 401 });
});
