import { afterAll, beforeAll, expect, test } from 'vitest';
import { aiSdk } from '../../worker/index.ts';
import { runWithCache } from './caching-run.ts';
import { context, fakeModel, request, textParts, userEvent } from './fake-model.ts';
import { FakeServer } from './fake-server.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

test.each<{ calls: number; cache: 'auto' | 'off'; compactEvery?: number; hit: number; price: number }>([
  { calls: 1, cache: 'auto', hit: 0.95, price: 0.16 },
  { calls: 15, cache: 'auto', hit: 0.85, price: 0.26 },
  { calls: 1, cache: 'auto', compactEvery: 10, hit: 0.9, price: 0.25 },
  { calls: 1, cache: 'off', hit: 0, price: 1 },
])('forty steps have at least this share of their input from the cache: %j', async ({ hit, price, ...run }) => {
  const measured = await runWithCache(server, url, { steps: 40, ...run });
  expect(measured.hit).toBeGreaterThanOrEqual(hit);
  expect(measured.inputPriceRatio).toBeLessThanOrEqual(price);
  expect(measured.marks).toBeLessThanOrEqual(3);
  expect(measured.compactions > 1).toBe(run.compactEvery !== undefined);
  expect(measured.notices).toEqual([]);
});

const HOUR = { type: 'ephemeral', ttl: '1h' };
const SHORT = { type: 'ephemeral' };

test.each<[rests: string, hasRested: boolean, cache: 'auto' | { ttl: '5m' }, marks: object[]]>([
  ['has not rested', false, 'auto', [SHORT, SHORT, SHORT]],
  ['has rested', true, 'auto', [HOUR, HOUR, SHORT]],
  ['has rested, where the user has decided', true, { ttl: '5m' }, [1, 2, 3].map(() => ({ ...SHORT, ttl: '5m' }))],
])('the stable marks of a conversation that %s are for an hour or not', async (_, hasRested, cache, marks) => {
  const model = fakeModel([textParts('A')], { provider: 'anthropic.messages' });
  const answer = { author: 'clerk', content: [{ type: 'message' as const, role: 'assistant' as const, content: 'A' }] };
  const asked = request({ instructions: ['One.', 'Two.'], conversation: [userEvent('Q'), answer, userEvent('Q')] });
  const told = { key: 'k', ...(hasRested ? { hasRested: true as const } : {}) };
  await aiSdk(() => model, { cache }).call(asked, context({ cache: told }));
  const sent = (model.calls[0]?.prompt ?? []) as { role: string; providerOptions?: { anthropic?: { cacheControl?: object } } }[];
  expect(sent.flatMap(({ providerOptions }) => providerOptions?.anthropic?.cacheControl ?? [])).toEqual(marks);
  expect(sent.map(({ role, providerOptions }) => `${role}${providerOptions === undefined ? '' : '*'}`)).toEqual([
    'system',
    'system*',
    'user*',
    'assistant',
    'user*',
  ]);
});

test.each<[model: string, hasRested: boolean, cache: 'auto' | { ttl: '1h' }, stable: object]>([
  ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', true, 'auto', { ttl: '1h' }],
  ['global.anthropic.claude-opus-5-v1:0', true, 'auto', { ttl: '1h' }],
  ['eu.anthropic.claude-sonnet-4-5-20250929-v1:0', false, 'auto', {}],
  ['anthropic.claude-sonnet-4-20250514-v1:0', true, 'auto', {}],
  ['anthropic.claude-3-7-sonnet-20250219-v1:0', true, 'auto', {}],
  ['amazon.nova-pro-v1:0', true, 'auto', {}],
  ['amazon.nova-pro-v1:0', true, { ttl: '1h' }, { ttl: '1h' }],
])('the stable mark of %s of Bedrock, in a conversation that has rested (%s), with %j: %j', async (modelId, hasRested, cache, stable) => {
  const model = fakeModel([textParts('A')], { provider: 'amazon-bedrock', modelId });
  const told = { key: 'k', ...(hasRested ? { hasRested: true as const } : {}) };
  await aiSdk(() => model, { cache }).call(request({ instructions: ['One.'] }), context({ cache: told }));
  const sent = (model.calls[0]?.prompt ?? []) as { role: string; providerOptions?: { bedrock?: { cachePoint?: object } } }[];
  expect(sent.find(({ role }) => role === 'system')?.providerOptions?.bedrock?.cachePoint).toEqual({ type: 'default', ...stable });
});
