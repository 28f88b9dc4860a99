import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineHook, defineTool } from '../../src/index.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import type { JsonValue } from '../../src/core/domain/json.ts';
import type { ConversationEvent, ModelClient, ModelResponse } from '../../src/core/domain/model.ts';
import { testAgent } from '../../src/testing/index.ts';

const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });

/** A model client of a user: it calls a tool, answers, and remembers its requests. */
function clientOf(first: Partial<ModelResponse>): ModelClient & { given: ConversationEvent[][] } {
  const given: ConversationEvent[][] = [];
  return {
    given,
    capabilities: { structuredOutput: true },
    call: ({ conversation }) => {
      given.push(conversation);
      const answer = { content: '', toolCalls: [], usage: null, finishReason: 'stop' };
      return Promise.resolve(
        given.length === 1
          ? { ...answer, toolCalls: [{ id: 'c1', name: 'look', arguments: {} }], ...first }
          : { ...answer, content: 'Done.' },
      );
    },
  };
}

const itemsGiven = ({ given }: { given: ConversationEvent[][] }): unknown[] =>
  given.map((events) => events.flatMap(({ providerItems = [] }) => providerItems));

test('what a model client returns along with an answer comes back to it, is recorded once, and names its model', async () => {
  const items: JsonValue[] = [{ any: 'thing' }, 'at all', 7];
  const model = clientOf({ providerItems: items, account: 'acme' });
  const run = await testAgent(defineAgent({ name: 'a', model: 'mine/m', tools: [look] }), { input: 'Q', model });
  expect(itemsGiven(model)).toEqual([[], items]);
  expect(model.given[1]?.find(({ providerItems }) => providerItems !== undefined)).toMatchObject({ account: 'acme' });
  const recorded = run.events.flatMap(({ providerItems }) => (providerItems === undefined ? [] : [providerItems]));
  expect(recorded).toEqual([[{ by: 'mine/m', account: 'acme' }, ...items]]);
});

test('items of another model are not given to the model of an agent that takes over, and items of its own model are', async () => {
  const given = new Map<string, unknown[][]>();
  const model: ModelClient = {
    capabilities: { structuredOutput: true },
    call: ({ model: name, conversation, tools }) => {
      given.set(name, [...(given.get(name) ?? []), conversation.flatMap(({ providerItems = [] }) => providerItems)]);
      const transfers = tools.some((tool) => tool.name === 'transfer_to_agent');
      return Promise.resolve({
        content: transfers ? '' : 'Done.',
        toolCalls: transfers ? [{ id: 'c1', name: 'transfer_to_agent', arguments: { agent: name === 'one' ? 'second' : 'third' } }] : [],
        usage: null,
        finishReason: 'stop',
        providerItems: [`of ${name}`],
      });
    },
  };
  const third = defineAgent({ name: 'third', description: 'd', model: 'p/one' });
  const second = defineAgent({ name: 'second', description: 'd', model: 'p/two', handoffs: [third] });
  await testAgent(defineAgent({ name: 'first', model: 'p/one', handoffs: [second] }), { input: 'Q', model });
  expect([...given]).toEqual([
    ['one', [[], ['of one']]],
    ['two', [[]]],
  ]);
});

test('items over 256 kB are left out, with a notice, and the run continues', async () => {
  const model = clientOf({ providerItems: ['x'.repeat(256_000)] });
  const run = await testAgent(defineAgent({ name: 'a', model: 'mine/m', tools: [look] }), { input: 'Q', model });
  expect(run.result.status).toBe('completed');
  expect(itemsGiven(model)).toEqual([[], []]);
  expect(run.events.flatMap(({ notices = [] }) => notices)).toMatchObject([
    { code: 'request_adapted', message: expect.stringContaining('over 256000') },
  ]);
});

test('items give way to a long answer, which would otherwise be too large to be recorded', async () => {
  const model = clientOf({ providerItems: ['x'.repeat(250_000)], content: 'y'.repeat(200_000) });
  const run = await testAgent(defineAgent({ name: 'a', model: 'mine/m', tools: [look] }), { input: 'Q', model });
  expect(run.result.status).toBe('completed');
  expect(run.events.every((event) => jsonBytes(event) < 300_000)).toBe(true);
});

test('items of an answer whose text a hook replaced are left out, and the client is told that there were some', async () => {
  const hook = defineHook({ name: 'h', on: 'post_response', run: () => ({ modify: { text: 'Other.' } }) });
  const model = clientOf({ providerItems: ['own'], content: 'Said.' });
  const run = await testAgent(defineAgent({ name: 'a', model: 'mine/m', tools: [look], hooks: [hook] }), { input: 'Q', model });
  expect(run.events.flatMap(({ providerItems }) => (providerItems === undefined ? [] : [providerItems]))).toEqual([[{ by: 'mine/m' }]]);
  expect(model.given[1]?.map(({ providerItems, lostItems }) => [providerItems, lostItems])).toEqual([
    [undefined, undefined],
    [undefined, true],
    [undefined, undefined],
  ]);
});
