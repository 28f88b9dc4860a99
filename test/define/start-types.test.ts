import { describe, expect, expectTypeOf, test } from 'vitest';
import type { SavedContext } from '../../src/client/index.ts';
import type { LonghaulClient as PublishedClient } from 'longhaul/client';
import { z } from 'zod';
import type { agents } from '../../examples/first-agent/agents.ts';
import type { ExecutionTrace, LonghaulClient, RunHandle, RunResult } from '../../src/client/index.ts';
import { type ContentItem, defineAgent, defineTool, resource, type RunContext } from '../../src/index.ts';
import type { durableTest, testAgent } from '../../src/testing/index.ts';
import type { JsonObject } from '../../src/core/domain/json.ts';
import type { StepResult } from '../../src/core/domain/tool-calls.ts';
import type { DefaultOutput } from '../../src/core/domain/result.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import type { createWorker, LonghaulPlugin } from '../../worker/index.ts';
import type { runAgent } from '../../workflows/index.ts';

/** Calls for the compiler to check: they are never executed. */
interface Api {
  client: LonghaulClient;
  testAgent: typeof testAgent;
  durableTest: typeof durableTest;
  createWorker: typeof createWorker;
  LonghaulPlugin: typeof LonghaulPlugin;
  runAgent: typeof runAgent;
}

interface Shop {
  stock: Map<string, number>;
}

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks up',
  parameters: z.object({ article: z.string() }),
  resources: ['shop'],
  execute: ({ article }, { resources }: RunContext<Record<string, unknown>, { shop: Shop }>) => resources.shop.stock.get(article) ?? 0,
  approval: (_, { resources }) => resources.shop.stock.size > 0,
});

const charge = defineTool({
  name: 'charge',
  description: 'Charges',
  parameters: z.object({}),
  effect: 'once',
  execute: (_, { resources, deps }: RunContext<{ user: string }, { bank: { pay(user: string): string } }>) => resources.bank.pay(deps.user),
  verify: (_, { resources, deps }) => ({ happened: true, result: resources.bank.pay(deps.user) }),
});

const plain = defineAgent({ name: 'plain', model: 'scripted/m' });
const greeter = defineAgent({ name: 'greeter', model: 'scripted/m', deps: z.object({ name: z.string().default('you') }) });
const teller = defineAgent({
  name: 'teller',
  model: 'scripted/m',
  deps: z.object({ user: z.string(), locale: z.string().default('en') }),
  output: z.object({ balance: z.number() }),
  instructions: ({ locale }) => `Answer in ${locale.toUpperCase()}`,
});
const seller = defineAgent({ name: 'seller', model: 'scripted/m', deps: z.object({ user: z.string() }), tools: [lookUp, charge] });

const model = scriptedModel([]);
const shop: Shop = { stock: new Map() };
const bank = { pay: (user: string): string => user };

describe("a start takes the input type of its agent's deps", () => {
  test('may be missing if its schema requires nothing', () => {
    expect(async ({ client, testAgent: inMemory, durableTest: durable, runAgent: child }: Api) => {
      await client.start(plain, { input: 'Q' });
      await client.start(plain, { input: 'Q', deps: { any: ['JSON'] } });
      await client.start(greeter, { input: 'Q' });
      await client.run(greeter, { input: 'Q', deps: {} });
      await client.run(greeter, { input: 'Q', deps: { name: 'ada' }, steps: true, timeout: 5 });
      await client.start('greeter', { input: 'Q', deps: { whatever: 1 } });
      await inMemory(greeter, { input: 'Q', model });
      await durable(greeter, { input: 'Q', model, deps: {} });
      await child<typeof greeter>('greeter', 'Q');
      await child<typeof greeter>('greeter', 'Q', { deps: {}, limits: { steps: 2 } });
      await child<typeof greeter>('greeter', 'Q', { inline: true });
      // @ts-expect-error It is a text.
      await client.start(greeter, { input: 'Q', deps: { name: 1 } });
    }).toBeTypeOf('function');
  });

  test('the first agent of the README with `deps: {}` and without', () => {
    expect(() => {
      const start = (client: PublishedClient, agent: (typeof agents)[number]): unknown => [
        client.start(agent, { input: 'Q' }),
        client.start(agent, { input: 'Q', deps: {} }),
        client.start(agent, { input: 'Q', deps: { customer: 'ada' } }),
        // @ts-expect-error It is called customer.
        client.start(agent, { input: 'Q', deps: { client: 'ada' } }),
      ];
      return start;
    }).toBeTypeOf('function');
  });

  test('needs deps without a default, but not those with one', () => {
    expect(async ({ client, testAgent: inMemory, durableTest: durable, runAgent: child }: Api) => {
      await client.start(teller, { input: 'Q', deps: { user: 'ada' } });
      await client.run(teller, { input: 'Q', deps: { user: 'ada', locale: 'fr' } });
      await inMemory(teller, { input: 'Q', model, deps: { user: 'ada' } });
      await durable(teller, { input: 'Q', model, deps: { user: 'ada' } });
      await child<typeof teller>('teller', 'Q', { deps: { user: 'ada' } });
      await child<typeof teller>('teller', 'Q', { inline: true, deps: { user: 'ada' } });
      // @ts-expect-error The user is missing.
      await client.start(teller, { input: 'Q', deps: {} });
      // @ts-expect-error So are all deps.
      await client.start(teller, { input: 'Q' });
      // @ts-expect-error So are all deps.
      await client.run(teller, { input: 'Q' });
      // @ts-expect-error There is no such field.
      await client.run(teller, { input: 'Q', deps: { user: 'ada', lang: 'fr' } });
      // @ts-expect-error So are all deps.
      await inMemory(teller, { input: 'Q', model });
      // @ts-expect-error So are all deps.
      await durable(teller, { input: 'Q', model });
      // @ts-expect-error So are the options.
      await child<typeof teller>('teller', 'Q');
      // @ts-expect-error So are all deps.
      await child<typeof teller>('teller', 'Q', { limits: { steps: 2 } });
      // @ts-expect-error So are all deps.
      await child<typeof teller>('teller', 'Q', { inline: true });
    }).toBeTypeOf('function');
  });
});

describe('a start takes the beginning of the run', () => {
  test('a saved context or an earlier run, whose deps it takes over', () => {
    expect(async ({ client, saved }: Api & { saved: SavedContext }) => {
      await client.start(teller, { saved });
      await client.run(teller, { saved, input: 'Q', deps: { locale: 'fr' }, timeout: 5 });
      await client.start(teller, { previousRunId: 'teller-1', input: 'Q' });
      await client.start('teller', { previousRunId: 'teller-1', deps: { any: 1 } });
      // @ts-expect-error It is a text.
      await client.start(teller, { saved, deps: { locale: 1 } });
      // @ts-expect-error There is no such field.
      await client.start(teller, { previousRunId: 'teller-1', deps: { lang: 'fr' } });
    }).toBeTypeOf('function');
  });

  test('an input, messages, or both', () => {
    const messages: ContentItem[] = [];
    expect(async ({ client, testAgent: inMemory, durableTest: durable, runAgent: child }: Api) => {
      await client.start(plain, { messages });
      await client.start(plain, { messages, input: 'Q' });
      await client.run(plain, { messages: [{ type: 'message', role: 'user', content: 'Q' }] });
      await inMemory(plain, { messages, model });
      await durable(plain, { messages, input: [{ type: 'text', text: 'Q' }], model });
      await child<typeof plain>('plain', { messages });
      await child<typeof plain>('plain', { messages, input: 'Q' }, { inline: true });
      // @ts-expect-error One of the two is needed.
      await client.start(plain, {});
      // @ts-expect-error One of the two is needed.
      await inMemory(plain, { model });
      // @ts-expect-error One of the two is needed.
      await child<typeof plain>('plain', {});
      // @ts-expect-error It is not a message.
      await client.start(plain, { messages: [{ role: 'user', content: 'Q' }] });
    }).toBeTypeOf('function');
  });
});

describe('a result', () => {
  test('of a run that completed has the type of the output schema, and text otherwise', () => {
    expect(async ({ client, testAgent: inMemory, runAgent: child }: Api) => {
      const result = await client.run(teller, { input: 'Q', deps: { user: 'ada' } });
      expectTypeOf(result.output).toEqualTypeOf<{ balance: number } | string>();
      if (result.success) expectTypeOf(result.output).toEqualTypeOf<{ balance: number }>();
      else expectTypeOf(result.output).toEqualTypeOf<string>();
      if (result.status === 'completed') expectTypeOf(result.output.balance).toEqualTypeOf<number>();
      else expectTypeOf(result.output.length).toEqualTypeOf<number>();
      // @ts-expect-error It may not have completed.
      void result.output.balance;
      const tested = await inMemory(teller, { input: 'Q', model, deps: { user: 'ada' } });
      if (tested.result.success) expectTypeOf(tested.result.output).toEqualTypeOf<{ balance: number }>();
      const childs = await child<typeof teller>('teller', 'Q', { deps: { user: 'ada' } });
      if (childs.success) expectTypeOf(childs.output).toEqualTypeOf<{ balance: number }>();
      else expectTypeOf(childs.output).toEqualTypeOf<string>();
      const inline = await child<typeof teller>('teller', 'Q', { inline: true, deps: { user: 'ada' } });
      if (inline.type === 'finished' && !inline.result.success) expectTypeOf(inline.result.output).toEqualTypeOf<string>();
    }).toBeTypeOf('function');
  });

  test('of a run with a final attempt may be the answer of the attempt', () => {
    const trying = defineAgent({ name: 'trying', model: 'scripted/m', output: z.object({ n: z.number() }), finalAttempt: true });
    expect(async ({ client }: Api) => {
      const result = await client.run(trying, { input: 'Q' });
      if (!result.success) expectTypeOf(result.output).toEqualTypeOf<{ n: number } | string>();
    }).toBeTypeOf('function');
  });

  test('has the type of the agent that the handle names', () => {
    expect(async ({ client }: Api) => {
      const handle = client.handle<typeof teller>('r');
      expectTypeOf(handle).toEqualTypeOf<RunHandle<{ balance: number }, string>>();
      expectTypeOf(await client.start(teller, { input: 'Q', deps: { user: 'ada' } })).toEqualTypeOf(handle);
      const { success, output } = await handle.result();
      if (success) expectTypeOf(output).toEqualTypeOf<{ balance: number }>();
      expectTypeOf(client.handle<{ n: number }>('r')).toEqualTypeOf<RunHandle<{ n: number }>>();
      expectTypeOf(client.handle('r')).toEqualTypeOf<RunHandle>();
      const any: RunResult<unknown> = await handle.result();
      return any;
    }).toBeTypeOf('function');
  });
});

describe('resources', () => {
  test('are those that tools name in the type of their context', () => {
    expect(async ({ createWorker: create, LonghaulPlugin: Plugin, testAgent: inMemory, durableTest: durable }: Api) => {
      const parts = { agents: [plain, seller], providers: { scripted: model } } as const;
      await create({ ...parts, resources: { shop, bank } });
      await create({ ...parts, resources: { shop: resource({ open: () => shop }), bank, other: 1 } });
      await create({ agents: [plain, greeter], providers: {} });
      await inMemory(seller, { input: 'Q', model, deps: { user: 'ada' }, resources: { shop, bank } });
      await durable(seller, { input: 'Q', model, deps: { user: 'ada' }, resources: { shop, bank } });
      expectTypeOf(new Plugin({ ...parts, resources: { shop, bank } })).toExtend<LonghaulPlugin>();
      expectTypeOf(new Plugin({ agents: [plain, greeter], providers: {} })).toExtend<LonghaulPlugin>();
      // @ts-expect-error The bank is missing.
      expectTypeOf(new Plugin({ ...parts, resources: { shop } })).toExtend<LonghaulPlugin>();
      // @ts-expect-error The bank is missing.
      await create({ ...parts, resources: { shop } });
      // @ts-expect-error All are missing.
      await create(parts);
      // @ts-expect-error It is a shop.
      await create({ ...parts, resources: { shop: resource({ open: () => bank }), bank } });
      // @ts-expect-error The bank is missing.
      await inMemory(seller, { input: 'Q', model, deps: { user: 'ada' }, resources: { shop } });
      // @ts-expect-error All are missing.
      await durable(seller, { input: 'Q', model, deps: { user: 'ada' } });
    }).toBeTypeOf('function');
  });

  test('include those that a tool declares to use', () => {
    expect(() => {
      const options = { name: 't', description: 'd', parameters: z.object({}) };
      const execute = (_: unknown, { resources }: RunContext<Record<string, unknown>, { shop: Shop }>) => resources.shop.stock.size;
      defineTool({ ...options, resources: ['shop'], execute });
      // @ts-expect-error It is called shop.
      defineTool({ ...options, resources: ['shops'], execute });
      defineTool({ ...options, resources: ['anything'], execute: (__, { resources }) => resources['anything'] });
    }).toBeTypeOf('function');
  });
});

test('a model name has its provider', () => {
  expect(({ client }: Api) => {
    defineAgent({ name: 'a', model: `openai/${process.env['OPENAI_MODEL'] ?? 'gpt-5-mini'}` });
    // @ts-expect-error The provider is missing.
    defineAgent({ name: 'a', model: 'gpt-5-mini' });
    // @ts-expect-error The provider is missing.
    defineAgent({ name: 'a', model: 'openai/gpt-5-mini', window: { summaryModel: 'gpt-5-nano' } });
    return client;
  }).toBeTypeOf('function');
});

describe('a result has the parts that were asked for', () => {
  test('by its type, if they were asked for by a literal', () => {
    expect(async ({ client }: Api) => {
      const handle = client.handle<typeof plain>('r');
      expectTypeOf((await handle.result({ steps: true })).steps).toEqualTypeOf<StepResult[]>();
      expectTypeOf((await handle.result({ trace: true })).trace).toEqualTypeOf<ExecutionTrace>();
      const all = await handle.result({ steps: true, deps: true, state: true, timeout: '5s' });
      expectTypeOf(all.steps).toEqualTypeOf<StepResult[]>();
      expectTypeOf(all.deps).toEqualTypeOf<JsonObject>();
      expectTypeOf(all.state).toEqualTypeOf<JsonObject>();
      if (all.success) expectTypeOf(all.output).toEqualTypeOf<DefaultOutput>();
      expectTypeOf((await client.run(teller, { input: 'Q', deps: { user: 'ada' }, steps: true })).steps).toEqualTypeOf<StepResult[]>();
      expectTypeOf((await client.run('teller', { input: 'Q', trace: true })).trace).toEqualTypeOf<ExecutionTrace>();
      expectTypeOf((await client.runProgram('p', { trace: true })).trace).toEqualTypeOf<ExecutionTrace>();
      const program = await client.startProgram('p');
      expectTypeOf((await program.result({ state: true })).state).toEqualTypeOf<JsonObject>();
    }).toBeTypeOf('function');
  });

  test('and may lack them otherwise', () => {
    expect(async ({ client }: Api, steps: boolean) => {
      const handle = client.handle<typeof plain>('r');
      expectTypeOf((await handle.result()).steps).toEqualTypeOf<StepResult[] | undefined>();
      expectTypeOf((await handle.result({ timeout: 5 })).trace).toEqualTypeOf<ExecutionTrace | undefined>();
      expectTypeOf((await handle.result({ steps })).steps).toEqualTypeOf<StepResult[] | undefined>();
      expectTypeOf((await handle.result({ steps: false })).steps).toEqualTypeOf<StepResult[] | undefined>();
      expectTypeOf((await client.run(plain, { input: 'Q' })).steps).toEqualTypeOf<StepResult[] | undefined>();
      // @ts-expect-error There is no such part.
      await handle.result({ event: true });
      // @ts-expect-error There is no such option.
      await client.run(plain, { input: 'Q', step: true });
      // @ts-expect-error The units of a program have the steps.
      await client.runProgram('p', { steps: true });
    }).toBeTypeOf('function');
  });
});

test('a start takes the state that the run begins with', () => {
  expect(async ({ client, testAgent: inMemory }: Api) => {
    await client.start(plain, { input: 'Q', state: { seen: [1] } });
    await client.startProgram('p', { state: { seen: 1 } });
    await inMemory(plain, { input: 'Q', model, state: { seen: 1 } });
    // @ts-expect-error It is an object.
    await client.start(plain, { input: 'Q', state: 'x' });
  }).toBeTypeOf('function');
});
