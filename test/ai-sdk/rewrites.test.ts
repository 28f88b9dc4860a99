import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { ContentItem } from '../../src/core/domain/content.ts';
import type { JsonObject } from '../../src/core/domain/json.ts';
import type { ConversationEvent, ModelRequest } from '../../src/core/domain/model.ts';
import { type AnyHook, defineAgent, defineHook, defineTool } from '../../src/index.ts';
import { testAgent } from '../../src/testing/index.ts';
import { aiSdk } from '../../worker/index.ts';
import { propertyRuns } from '../property-runs.ts';
import { answerEvent, context, userEvent } from './fake-model.ts';
import type { Said } from './families.ts';
import { FakeServer } from './fake-server.ts';
import { type Package, PACKAGES } from './packages.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

/** A secret that a tool returns: the run replaces it in the result. */
const SECRET = 'a-secret-of-acme-1';
const lookUp = defineTool({
  name: 'look_up',
  description: 'Finds',
  parameters: z.object({ q: z.string() }),
  execute: async ({ q }, { secret }) => `found ${q} with ${await secret('acme')}`,
});

/** The settings that make a model think before each call. */
function thinking({ name }: Package): { settings?: { maxOutputTokens: number; extra: JsonObject } } {
  if (name !== 'anthropic') return {};
  return { settings: { maxOutputTokens: 4_000, extra: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } } } };
}

/** The output of the model in a step: thoughts if it can, perhaps a text, and calls, one of them perhaps with markup in its name. */
interface Step {
  thought: 'plain' | 'redacted';
  text: string;
  thinksAgain: boolean;
  calls: ('plain' | 'markup')[];
}

const step: fc.Arbitrary<Step> = fc.record({
  thought: fc.constantFrom('plain' as const, 'redacted' as const),
  text: fc.constantFrom('', 'I look at the moon.', 'Short.', ' '),
  thinksAgain: fc.boolean(),
  calls: fc.array(fc.constantFrom('plain' as const, 'plain' as const, 'markup' as const), { minLength: 1, maxLength: 3 }),
});

function partsOf({ family, name }: Package, { thought, text, thinksAgain, calls }: Step, first: number): Said[] {
  const isClaude = name === 'anthropic';
  const begins: Said[] = !family.thinks ? [] : isClaude && thought === 'redacted' ? [{ redacted: 'RD1' }] : [{ thinking: 'Hmm, look.' }];
  return [
    ...begins,
    ...(text === '' ? [] : [{ text }]),
    ...(isClaude && thinksAgain ? [{ thinking: 'And again.' }] : []),
    ...calls.map((kind, index): Said => {
      return { call: kind === 'plain' ? 'look_up' : 'look_up"x', id: family.id(first + index), input: JSON.stringify({ q: `q${index}` }) };
    }),
  ];
}

/** What hooks make of a run: each at any place. */
interface Rewrites {
  text: string | undefined;
  redacts: boolean;
  calls: ('allow' | 'deny' | 'modify' | 'inject')[];
  results: ('allow' | 'modify' | 'fail' | 'inject')[];
}

const rewrites: fc.Arbitrary<Rewrites> = fc.record({
  text: fc.constantFrom(undefined, undefined, '', ' ', 'Changed.', 'I look at the sun!!'),
  redacts: fc.boolean(),
  calls: fc.array(fc.constantFrom('allow' as const, 'deny' as const, 'modify' as const, 'inject' as const), { minLength: 1, maxLength: 4 }),
  results: fc.array(fc.constantFrom('allow' as const, 'modify' as const, 'fail' as const, 'inject' as const), {
    minLength: 1,
    maxLength: 4,
  }),
});

function hooksOf({ text, redacts, calls, results }: Rewrites): AnyHook[] {
  let [called, found] = [0, 0];
  return [
    defineHook({ name: 'replaces', on: 'post_response', run: () => (text === undefined ? undefined : { modify: { text } }) }),
    defineHook({
      name: 'redacts',
      on: 'post_response',
      run: (payload) =>
        redacts && payload.text.includes('moon') ? { modify: { text: payload.text.replace('moon', '[redacted]') } } : undefined,
    }),
    defineHook({
      name: 'calls',
      on: 'pre_tool_use',
      run: () => {
        const answer = calls[called++ % calls.length];
        if (answer === 'deny') return { deny: 'not today' };
        if (answer === 'modify') return { modify: { arguments: { q: 'another' } } };
        return answer === 'inject' ? { inject: 'Mind the gap.' } : 'allow';
      },
    }),
    defineHook({
      name: 'results',
      on: 'post_tool_use',
      run: () => {
        const answer = results[found++ % results.length];
        if (answer === 'modify') return { modify: { result: 'other' } };
        if (answer === 'fail') return { modify: { isError: true } };
        return answer === 'inject' ? { inject: 'It is so.' } : 'allow';
      },
    }),
  ];
}

/** The changes of an answer before it is sent back. */
interface Changed {
  text: string | undefined;
  /** The calls that are gone, with their results. */
  gone: boolean[];
  /** The calls with other arguments. */
  others: boolean[];
  newIds: boolean;
}

const changed: fc.Arbitrary<Changed> = fc.record({
  text: fc.constantFrom(undefined, '', 'Changed.', 'I look at the sun!!'),
  gone: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  others: fc.array(fc.boolean(), { minLength: 3, maxLength: 3 }),
  newIds: fc.boolean(),
});

function changedEvents(answer: ConversationEvent, { text, gone, others, newIds }: Changed): ConversationEvent[] {
  let index = -1;
  const content = answer.content.flatMap((item): ContentItem[] => {
    if (item.type === 'message') return text === undefined ? [item] : text === '' ? [] : [{ ...item, content: text }];
    if (item.type !== 'tool_call') return [item];
    index += 1;
    const toolCallId = newIds ? `${item.toolCallId}-2` : item.toolCallId;
    return gone[index] === true ? [] : [{ ...item, toolCallId, ...(others[index] === true ? { arguments: { q: 'other' } } : {}) }];
  });
  const results = content.flatMap((item): ContentItem[] => {
    if (item.type !== 'tool_call') return [];
    return [{ type: 'tool_result', toolCallId: item.toolCallId, name: item.name, status: 'success', content: ['found'] }];
  });
  return [
    { ...answer, content },
    { author: 'clerk', content: results },
  ].filter((event) => event.content.length > 0);
}

describe.each(PACKAGES)('the API of $name ($spec)', (one) => {
  test('takes every request of a run, whatever hooks have changed of texts, calls and results', async () => {
    await fc.assert(
      fc.asyncProperty(step, step, rewrites, async (first, second, made) => {
        server.script({ parts: partsOf(one, first, 1) }, { parts: partsOf(one, second, 4) }, { parts: [{ text: 'Done.' }] });
        const agent = defineAgent({ name: 'clerk', model: `p/${one.modelId}`, tools: [lookUp], hooks: hooksOf(made), ...thinking(one) });
        const { result, events } = await testAgent(agent, {
          input: 'Q',
          model: aiSdk((id) => one.model(url, id)),
          secrets: { acme: SECRET },
        });
        expect(server.refused).toEqual([]);
        expect(result.status).toBe('completed');
        expect(server.requests).toHaveLength(3);
        expect(JSON.stringify(events)).not.toContain(SECRET);
        expect(JSON.stringify(server.requests)).not.toContain(SECRET);
      }),
      { numRuns: propertyRuns(30) },
    );
  }, 120_000);

  test('accepts an answer with changed text, calls, arguments or ids', async () => {
    const client = aiSdk((id) => one.model(url, id));
    await fc.assert(
      fc.asyncProperty(step, changed, async (said, change) => {
        const plain = { ...said, calls: said.calls.map(() => 'plain' as const) };
        server.script({ parts: partsOf(one, plain, 1) }, { parts: [{ text: 'Done.' }] });
        const asked = {
          model: one.modelId,
          instructions: [],
          tools: [
            { name: 'look_up', description: 'L', parameters: { type: 'object', properties: { q: { type: 'string' } } }, strict: false },
          ],
          settings: thinking(one).settings ?? {},
        } satisfies Omit<ModelRequest, 'conversation'>;
        const answer = answerEvent(await client.call({ ...asked, conversation: [userEvent('Q')] }, context()));
        const { content } = await client.call({ ...asked, conversation: [userEvent('Q'), ...changedEvents(answer, change)] }, context());
        expect(server.refused).toEqual([]);
        expect(content).toBe('Done.');
      }),
      { numRuns: propertyRuns(40) },
    );
  }, 120_000);
});
