import { expect, test } from 'vitest';
import { z } from 'zod';
import type { StreamPart } from '../../activities/models/ai-sdk/language-model.ts';
import { tokenUsage } from '../../activities/models/openai/exchange.ts';
import { costOf, type ModelPrice } from '../../src/core/domain/usage.ts';
import { defineAgent, defineTool, hosted } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { context, fakeModel, FINISH, request, textParts } from './fake-model.ts';

const PRICE: ModelPrice = { input: 1, output: 2, hosted: { web_search: 10 } };
/** The tokens of an answer of a fake cost this much. */
const TOKENS = (10 * 1 + 5 * 2) / 1e6;
const search = (id: string, isError = false): StreamPart[] => [
  { type: 'tool-call', toolCallId: id, toolName: 'web_search', input: '{}', providerExecuted: true },
  { type: 'tool-result', toolCallId: id, toolName: 'web_search', result: [], ...(isError ? { isError } : {}) },
];
const finished = (more: object): StreamPart => ({ ...FINISH, ...more });

async function costOfRun(parts: readonly StreamPart[], price?: ModelPrice): Promise<number | undefined> {
  const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
  const agent = defineAgent({ name: 'scout', model: 'fake/fake-1', tools: [look, hosted('fake.web_search')], limits: {} });
  const model = aiSdk(() => fakeModel([parts]));
  const { result } = await testAgent(agent, { input: 'Q', model, ...(price === undefined ? {} : { prices: { 'fake/fake-1': price } }) });
  expect(result.status).toBe('completed');
  return result.usage.costUsd;
}

test('calls that a provider has made by itself cost the listed price, unless they have failed', async () => {
  const text = textParts('Far.');
  expect(await costOfRun([...search('a'), ...search('b'), ...search('c', true), ...text], PRICE)).toBeCloseTo(TOKENS + 0.02, 12);
  expect(await costOfRun([...search('a'), ...text], { ...PRICE, hosted: { code_execution: 5 } })).toBeCloseTo(TOKENS, 12);
  expect(
    costOf({ promptTokens: 10, completionTokens: 5, totalTokens: 15 }, PRICE, { inBatch: true, hosted: [{ name: 'web_search' }] }),
  ).toBeCloseTo(TOKENS / 2 + 0.01, 12);
});

test.each<[what: string, finish: object, cost: number]>([
  ['in its usage', { usage: { ...(FINISH.usage as object), raw: { cost: 0.25 } } }, 0.25],
  ['with its parts', { usage: { ...(FINISH.usage as object), raw: { cost: { total_cost: 0.5, request_cost: 0.1 } } } }, 0.5],
  ['in its metadata', { providerMetadata: { openrouter: { usage: { cost: 0.125 } } } }, 0.125],
  ['as a text', { providerMetadata: { gateway: { cost: '0.0625' } } }, 0.0625],
  ['that is nothing', { providerMetadata: { openrouter: { usage: { cost: 0 } } } }, 0],
])('the cost that a provider reports %s takes precedence over prices', async (_, finish, cost) => {
  const text = textParts('Far.').slice(0, 3);
  expect(await costOfRun([...text, finished(finish)], PRICE)).toBe(cost);
  expect(await costOfRun([...text, finished(finish)])).toBe(cost);
});

test.each([-1, Number.NaN, '1e9', '-1', '', null, 1e9, Infinity, [], true, {}, '0x10'])('a cost of %j is ignored', async (cost) => {
  const { usage } = await aiSdk(() =>
    fakeModel([[...textParts('Far.').slice(0, 3), finished({ providerMetadata: { x: { cost } } })]]),
  ).call(request(), context());
  expect(usage).not.toHaveProperty('costUsd');
  expect(tokenUsage({ prompt_tokens: 1, completion_tokens: 1, cost })).not.toHaveProperty('costUsd');
});

test('openai() reads the cost that servers with its API report', () => {
  expect(tokenUsage({ prompt_tokens: 1, completion_tokens: 1, cost: 0.5 })).toMatchObject({ costUsd: 0.5 });
  expect(tokenUsage({ prompt_tokens: 1, completion_tokens: 1, cost: { total_cost: 0.25 } })).toMatchObject({ costUsd: 0.25 });
});
