import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, type AnyAgent, defineAgent, defineHook, defineTool, type ModelName } from '../../src/index.ts';
import { ModelCallError } from '../../src/core/domain/errors.ts';
import type { ModelClient, ModelRequest } from '../../src/core/domain/model.ts';
import type { AgentOptions } from '../../src/define/define-agent.ts';
import { callTool, failWith, say, type ScriptEntry, scriptedModel, testAgent } from '../../src/testing/index.ts';
import { sessionInMemory } from '../providers/session-in-memory.ts';

const A = 'first/large';
const B = 'second/small';
const PRICES = { [A]: { input: 10, output: 100 }, [B]: { input: 1, output: 10 } };
const down = failWith('model_server_error');

const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });

const listed = (options: Partial<AgentOptions<never, never>> = {}): AnyAgent =>
  defineAgent({ name: 'bot', model: [A, B], fallback: { coolDown: 0 }, tools: [look] as never, ...options });

/** The scripts of the two models. */
const models = (first: ScriptEntry[], second: ScriptEntry[]): Record<ModelName, ModelClient> => ({
  [A]: scriptedModel(first),
  [B]: scriptedModel(second),
});

/** Who answered each step of a run, and which models were tried before. */
const origins = (steps: readonly { answeredBy?: string; tried?: object[] }[]): unknown[] =>
  steps.map(({ answeredBy = A, tried = [] }) => [answeredBy, ...tried]);

test('the record says which model answered, why the first one did not, and what each cost', async () => {
  const model = models([down], [callTool('look'), say('Done.')]);
  const { result, steps, events } = await testAgent(listed(), { input: 'Q', model, prices: PRICES });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(origins(steps)).toEqual([[B, { model: A, code: 'model_server_error' }], [B]]);
  expect(events.flatMap(({ answeredBy }) => answeredBy ?? [])).toEqual([B, B]);
  // Two answers of 10 tokens in and 5 out, by the price of the model that gave them.
  expect(result.usage.costUsd).toBeCloseTo((2 * (10 * 1 + 5 * 10)) / 1_000_000, 12);
});

test('half of an answer has the price of the model that gave it', async () => {
  const usage = { promptTokens: 100, completionTokens: 10, totalTokens: 110 };
  const breaking: ModelClient = {
    capabilities: { structuredOutput: true },
    call: (_, { onDelta, onUsage }) => {
      onDelta?.({ type: 'text', text: 'half' });
      onUsage?.(usage);
      return Promise.reject(new ModelCallError('model_unreachable', 'broken'));
    },
  };
  const model = { [A]: breaking, [B]: scriptedModel([say('Done.')]) };
  const { result, events } = await testAgent(listed(), { input: 'Q', model, prices: PRICES });
  const half = (100 * 10 + 10 * 100) / 1_000_000;
  expect(events.at(-1)?.failedAttempts).toEqual({ reported: { ...usage, costUsd: half } });
  expect(result.usage.costUsd).toBeCloseTo(half + (10 * 1 + 5 * 10) / 1_000_000, 12);
  // Nobody knows what the half has cost: it is not priced like the answer.
  const unpriced = await testAgent(listed(), {
    input: 'Q',
    model: { ...model, [B]: scriptedModel([say('Done.')]) },
    prices: { [B]: PRICES[B] },
  });
  expect(unpriced.events.at(-1)?.failedAttempts).toEqual({ reported: usage });
});

test('a fallback adds no event to a run', async () => {
  const plain = await testAgent(listed(), { input: 'Q', model: models([callTool('look'), say('Done.')], []) });
  const moved = await testAgent(listed(), { input: 'Q', model: models([down], [callTool('look'), say('Done.')]) });
  const shape = ({ events }: { events: readonly { author: string; content: unknown }[] }): unknown =>
    events.map(({ author, content }) => ({ author, content }));
  expect(shape(moved)).toEqual(shape(plain));
});

test('a turn keeps its model, and the next turn begins with the first one', async () => {
  const model = models([down, callTool('look', {}, 'c2'), say('Second.')], [callTool('look', {}, 'c1'), say('First.')]);
  const providers = { first: model[A], second: model[B] };
  const agent = listed();
  const { turns, events } = await sessionInMemory(
    agent,
    () => ({ agents: [agent], providers: providers as Record<string, ModelClient> }),
    [
      { type: 'says', text: 'One' },
      { type: 'says', text: 'Two' },
    ],
    () => undefined,
  );
  expect(turns.map(({ output }) => output)).toEqual(['First.', 'Second.']);
  expect(events.flatMap(({ usage, answeredBy }) => (usage === undefined ? [] : [answeredBy]))).toEqual([B, B, undefined, undefined]);
});

test('an agent that takes over, and one that runs as a child, have their own lists', async () => {
  const second = defineAgent({ name: 'second', description: 'Knows', model: [A, B], fallback: { coolDown: 0 } });
  const child = defineAgent({ name: 'child', description: 'Helps', model: [A, B], fallback: { coolDown: 0 } });
  const first = listed({ tools: [agentTool(child, { description: 'Helps' })] as never, handoffs: [second] });
  const model = models(
    [callTool('child', { request: 'Help' }), down, down, say('At last.')],
    [say('Helped.'), callTool('transfer_to_agent', { agent: 'second' })],
  );
  const { result, steps } = await testAgent(first, { input: 'Q', model });
  expect(result).toMatchObject({ status: 'completed', output: 'At last.' });
  expect(origins(steps)).toEqual([[A], [B, { model: A, code: 'model_server_error' }], [A]]);
});

test('a conversation that is too long is compacted before a larger model is asked', async () => {
  const page = defineTool({ name: 'page', description: 'Reads', parameters: z.object({}), execute: () => 'x'.repeat(3_000) });
  const asked: string[] = [];
  const client = (name: string, contextTokens: number, script: ScriptEntry[]): ModelClient => {
    const model = scriptedModel(script, { capabilities: { structuredOutput: true, contextTokens } });
    return {
      ...model,
      call: (request: ModelRequest, context) => {
        asked.push(`${name} ${JSON.stringify(request.conversation).length > 3_000 ? 'long' : 'short'}`);
        return model.call(request, context);
      },
    };
  };
  const tooLong = failWith('context_length_exceeded');
  const { result, steps } = await testAgent(listed({ tools: [page] as never, window: { summarize: false, keepResults: 0 } }), {
    input: 'Q',
    model: { [A]: client('A', 50_000, [callTool('page'), tooLong, tooLong]), [B]: client('B', 90_000, [say('Done.')]) },
  });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(asked).toEqual(['A short', 'A long', 'A short', 'B short']);
  expect(origins(steps)).toEqual([[A], [B, { model: A, code: 'context_length_exceeded' }]]);
});

test('if nothing can be taken out, a larger model is asked nevertheless', async () => {
  const sized = (contextTokens: number, script: ScriptEntry[]): ModelClient =>
    scriptedModel(script, { capabilities: { structuredOutput: true, contextTokens } });
  const tooLong = failWith('context_length_exceeded');
  const model = { [A]: sized(50_000, [tooLong, tooLong]), [B]: sized(90_000, [say('Done.')]) };
  const { result } = await testAgent(listed(), { input: 'Q', model });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.' });
});

describe('hooks', () => {
  const seen: string[] = [];
  const watching = defineHook({
    name: 'watch',
    on: 'pre_request',
    run: ({ model }) => {
      seen.push(model);
      return model === B && seen.length > 2 ? { deny: 'not that one' } : 'allow';
    },
  });

  test('see the request for each model, and a hook that denies it ends the call', async () => {
    const allowed = await testAgent(listed({ hooks: [watching] }), { input: 'Q', model: models([down], [say('Done.')]) });
    expect(allowed.result.status).toBe('completed');
    expect(seen).toEqual([A, B]);
    const denied = await testAgent(listed({ hooks: [watching] }), { input: 'Q', model: models([down], []) });
    expect(denied.result).toMatchObject({ status: 'error', error: expect.stringContaining('not that one') });
  });
});

describe('a test', () => {
  test('names the model whose script was not used up', async () => {
    const run = testAgent(listed(), { input: 'Q', model: models([say('Done.')], [say('Never.')]) });
    await expect(run).rejects.toThrow('Model "second/small": The scripted model was called 0 times, but its script has 1 entry.');
  });

  test('needs a model for each name, or one for all', async () => {
    await expect(testAgent(listed(), { input: 'Q', model: { [A]: scriptedModel([]) } })).rejects.toThrow(
      'the test of agent "bot" has no model "second/small": write model: {\'second/small\': scriptedModel([…])}',
    );
    const { result } = await testAgent(listed(), { input: 'Q', model: scriptedModel([down, say('Done.')]) });
    expect(result.output).toBe('Done.');
  });
});
