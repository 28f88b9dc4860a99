import { expect, test } from 'vitest';
import type { StreamItem } from '../../../src/client/index.ts';
import { MAX_BODY_VALUES } from '../../../src/server/requests.ts';
import { answer } from '../requests.ts';
import { checksOf, post, quietHandler } from './generated-bodies.ts';

test('a list with very many wrong items is refused with 50 problems at most, and the rest is not looked at', async () => {
  const lists: [string, string, (items: unknown[]) => object][] = [
    ['/v1/runs', 'input', (input) => ({ agent: 'clerk', input })],
    ['/v1/runs', 'messages', (messages) => ({ agent: 'clerk', messages })],
    ['/v1/runs', 'parts', (content) => ({ agent: 'clerk', messages: [{ type: 'message', role: 'user', content }] })],
    ['/v1/runs', 'tags', (tags) => ({ agent: 'clerk', input: 'Q', tags })],
    ['/v1/runs/r/messages', 'content', (content) => ({ content })],
    ['/v1/sessions', 'messages', (messages) => ({ agent: 'clerk', messages })],
    ['/v1/sessions/s/messages', 'content', (content) => ({ content })],
    ['/v1/tokens', 'scopes', (scopes) => ({ runId: 'r', scopes })],
    ['/v1/agents/clerk/chat', 'messages', (messages) => ({ id: 'c', messages })],
    ['/v1/agents/clerk/chat', 'parts', (parts) => ({ id: 'c', messages: [{ id: 'm', role: 'user', parts }] })],
    ['/v1/chat/completions', 'messages', (messages) => ({ model: 'clerk', messages })],
    ['/v1/chat/completions', 'content', (content) => ({ model: 'clerk', messages: [{ role: 'user', content }] })],
    ['/v1/responses', 'input', (input) => ({ model: 'clerk', input })],
    ['/v1/responses', 'content', (content) => ({ model: 'clerk', input: [{ role: 'user', content }] })],
  ];
  const handler = quietHandler();
  for (const [path, name, bodyOf] of lists) {
    for (const [count, most] of [
      [90, 50 * 20],
      [45_000, 100],
    ] as const) {
      const sent = bodyOf(Array.from({ length: count }, () => ({})));
      const { checks, result } = await checksOf(() => answer(handler, 'POST', path, { body: sent }));
      const { status, body } = result;
      expect({ path, name, status }).toEqual({ path, name, status: path.startsWith('/v1/chat/') || path === '/v1/responses' ? 400 : 422 });
      expect({ path, name, count, problems: body.errors?.length ?? 0, checks }).toSatisfy(
        (found: { problems: number; checks: number }) => found.problems <= 50 && found.checks < most,
      );
    }
  }
});

test('300,000 parts are refused, and overflow no stack', async () => {
  const handler = quietHandler();
  for (const [path, start, end] of [
    ['/v1/responses', '{"model":"clerk","input":[', ']}'],
    ['/v1/chat/completions', '{"model":"clerk","messages":[{"role":"user","content":[', ']}]}'],
    ['/v1/runs', '{"agent":"clerk","input":[', ']}'],
    ['/v1/agents/clerk/chat', '{"id":"c","messages":[', ']}'],
    ['/mcp', '[', ']'],
  ] as const) {
    const response = await post(handler, { method: 'POST', path }, `${start}${'{},'.repeat(300_000)}{}${end}`);
    expect([path, response.status, await response.text()]).toEqual([
      path,
      expect.toBeOneOf([400, 422]),
      expect.stringContaining(`more than ${MAX_BODY_VALUES} values`),
    ]);
  }
});

test('brackets and commas in texts do not count as values, also after escapes', async () => {
  const handler = quietHandler();
  const input = String.raw`\" , [ { `.repeat(40_000);
  expect((await post(handler, { method: 'POST', path: '/v1/runs' }, `{"agent":"clerk","input":"${input}\\\\"}`)).status).toBe(201);
});

test('names of members and texts of a request are cut in its refusal', async () => {
  const handler = quietHandler();
  const long = 'x'.repeat(400_000);
  const asked: [string, object][] = [
    ['/v1/runs', { agent: 'clerk', input: 'Q', [long]: 1 }],
    ['/v1/runs', { agent: 'clerk', input: 'Q', limits: { [`${long}\ud83d`]: 1 } }],
    ['/v1/runs', { agent: 'clerk', input: 'Q', limits: { toolCallsByName: { [long]: 'many' } } }],
    ['/v1/chat/completions', { model: 'clerk', messages: [{ role: 'tool', tool_call_id: long, content: 'x' }] }],
    ['/v1/chat/completions', { model: 'clerk', messages: [{ role: 'user', content: 'Q' }], [long]: 1 }],
    ['/v1/responses', { model: 'clerk', input: [{ type: 'function_call_output', call_id: long, output: 'x' }] }],
  ];
  for (const [path, body] of asked) {
    const response = await post(handler, { method: 'POST', path }, JSON.stringify(body));
    expect([response.status < 500, (await response.text()).length < 6_000]).toEqual([true, true]);
  }
});

test('a stream loses nothing while ten bodies of 1 MB arrive at once', async () => {
  const COUNT = 200;
  async function* items(): AsyncGenerator<StreamItem> {
    for (let index = 0; index < COUNT; index += 1) {
      await new Promise((resolve) => setImmediate(resolve));
      yield { type: 'status', status: 'running', cursor: `c${index}` };
    }
  }
  const handler = quietHandler({ stream: items, status: async () => ({ status: 'running' }) });
  const stream = await handler(new Request('http://localhost/v1/runs/r/stream'));
  const read = stream.text();
  const body = `{"model":"clerk","input":[${'{"role":"user","content":[{}]},'.repeat(29_000)}{}]}`;
  const answers = await Promise.all(Array.from({ length: 10 }, () => post(handler, { method: 'POST', path: '/v1/responses' }, body)));
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 10 }, () => 400));
  const cursors = [...(await read).matchAll(/^id: c(\d+)$/gm)].map(([, index]) => Number(index));
  expect(cursors).toEqual(Array.from({ length: COUNT }, (_, index) => index));
});
