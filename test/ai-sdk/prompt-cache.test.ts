import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { ANTHROPIC, type Body, type Said } from './families.ts';
import { FakeServer } from './fake-server.ts';
import { PACKAGES } from './packages.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

/** Anthropic finds a beginning that it has cached within so many blocks before a mark, and caches none that is shorter. */
const LOOK_BACK = 20;
const LEAST_TOKENS = 1_024;

/** The share of the tokens of these requests that the cache has, and what the input costs of what it would cost without one. */
function cacheOf(requests: readonly Body[]): { hit: number; price: number } {
  const known = new Set<string>();
  const sum = { all: 0, read: 0, written: 0 };
  for (const { tools, system, messages } of requests) {
    const blocks = [tools, system, ...(messages as Body[]).map(({ content }) => content)].flat() as Body[];
    let [digest, tokens] = ['', 0];
    const prefixes = blocks.map(({ cache_control: mark, ...block }) => {
      const text = JSON.stringify(block);
      digest = createHash('sha1').update(digest).update(text).digest('hex');
      tokens += Math.ceil(text.length / 4);
      return { digest, tokens, isMarked: mark !== undefined };
    });
    const marks = prefixes.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
    const found = marks
      .flatMap((mark) => prefixes.slice(Math.max(0, mark - LOOK_BACK + 1), mark + 1))
      .filter((one) => known.has(one.digest));
    const read = Math.max(0, ...found.map((one) => one.tokens));
    const cached = marks.flatMap((mark) => prefixes[mark] ?? []).filter((one) => one.tokens >= LEAST_TOKENS);
    for (const one of cached) known.add(one.digest);
    sum.all += tokens;
    sum.read += read;
    sum.written += Math.max(0, (cached.at(-1)?.tokens ?? 0) - read);
  }
  const { all, read, written } = sum;
  return { hit: read / all, price: (all - read - written + read * 0.1 + written * 1.25) / all };
}

test.each<[calls: number, cache: 'auto' | 'off', hit: number, price: number]>([
  [1, 'auto', 0.95, 0.16],
  [15, 'auto', 0.85, 0.26],
  [1, 'off', 0, 1],
])('in forty steps with %i calls each, cache %j has at least this share of the input: %d', async (calls, cache, hit, price) => {
  const anthropic = PACKAGES.find(({ name, spec }) => name === 'anthropic' && spec === 'v4');
  const look = defineTool({
    name: 'look_up',
    description: 'Looks something up in the books of the company.',
    parameters: z.object({ q: z.string() }),
    execute: ({ q }) => `The entry about ${q}: ${'it is written in the books. '.repeat(15)}`,
  });
  const instructions = `You are a clerk. ${'Be as exact as the books are. '.repeat(500)}`;
  const agent = defineAgent({
    name: 'clerk',
    model: 'p/claude-sonnet-4-5',
    tools: [look],
    instructions,
    limits: { steps: 60, toolCalls: 1_000 },
  });
  const answers = Array.from({ length: 40 }, (_, step): { parts: Said[] } => ({
    parts: Array.from({ length: calls }, (__, call) => ({
      call: 'look_up',
      id: ANTHROPIC.id(100 * step + call),
      input: JSON.stringify({ q: `number ${step} ${call}` }),
    })),
  }));
  server.script(...answers, { parts: [{ text: 'Done.' }] });
  const { result } = await testAgent(agent, { input: 'Look.', model: aiSdk((id) => anthropic!.model(url, id), { cache }) });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  const measured = cacheOf(server.requests.map(({ body }) => body));
  expect(measured.hit).toBeGreaterThanOrEqual(hit);
  expect(measured.price).toBeLessThanOrEqual(price);
});
