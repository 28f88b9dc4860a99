import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import {
  type AnyCapability,
  defineAgent,
  defineCapability,
  defineGuardrail,
  defineHook,
  defineTool,
  type DepsOf,
  type GivenDepsOf,
  mcpServer,
  type ResourcesOf,
  type RunContext,
} from '../../src/index.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import { callTool, say, scriptedModel, testAgent } from '../../src/testing/index.ts';

const DESK = { name: 'desk', model: 'scripted/model' } as const;

const tool = (name: string) => defineTool({ name, description: 'A tool', parameters: z.object({}), execute: () => 'done' });
const hook = (name: string) => defineHook({ name, on: 'pre_tool_use', run: () => 'allow' });
const guardrail = (name: string) => defineGuardrail({ name, type: 'input', check: () => ({ passed: true }) });
const server = (name: string) => mcpServer({ name, command: 'server' });

const refunds = defineCapability({
  name: 'refunds',
  instructions: 'Refund only what is broken.',
  tools: [tool('refund')],
  mcp: [server('shop')],
  skills: ['./refunds'],
  permissions: { ask: ['refund'] },
  hooks: [hook('audit')],
  guardrails: [guardrail('polite')],
  settings: { temperature: 0 },
  deps: z.object({ customer: z.string() }),
});

test('an agent has what its capabilities bring, after its own, in their order', async () => {
  const billing = defineCapability({
    name: 'billing',
    instructions: ['Name amounts.', 'Name dates.'],
    tools: [tool('invoice')],
    permissions: { ask: ['invoice'], deny: ['shop_*'] },
    settings: { maxOutputTokens: 500 },
  });
  const agent = defineAgent({
    ...DESK,
    instructions: 'You answer.',
    tools: [tool('look')],
    skills: ['./own'],
    permissions: { mode: 'permissive', ask: ['look'] },
    hooks: [hook('own')],
    deps: z.object({ locale: z.string().default('en') }),
    capabilities: [refunds, billing],
  });
  expect(agent.instructions).toEqual(['You answer.', 'Refund only what is broken.', 'Name amounts.', 'Name dates.']);
  expect(agent.tools.map(({ name, capability }) => [name, capability])).toEqual([
    ['look', undefined],
    ['refund', 'refunds'],
    ['invoice', 'billing'],
  ]);
  expect(agent.mcp).toMatchObject([{ name: 'shop', capability: 'refunds' }]);
  expect(agent.skills).toEqual([{ path: './own' }, { path: './refunds' }]);
  expect(agent.permissions).toEqual({
    mode: 'permissive',
    ask: [{ tool: 'look' }, { tool: 'refund', capability: 'refunds' }, { tool: 'invoice', capability: 'billing' }],
    deny: [{ tool: 'shop_*', capability: 'billing' }],
  });
  expect(agent.hooks?.map(({ name }) => name)).toEqual(['own', 'audit']);
  expect(agent.guardrails?.map(({ name }) => name)).toEqual(['polite']);
  expect(agent.settings).toEqual({ temperature: 0, maxOutputTokens: 500 });
  expect(agent.deps?.parse({ customer: 'Ada' })).toEqual({ customer: 'Ada', locale: 'en' });
});

test('an agent without capabilities, and with an empty list, is the same', () => {
  const { instructions, ...plain } = defineAgent({ ...DESK, tools: [tool('look')] });
  const { instructions: same, ...empty } = defineAgent({ ...DESK, tools: [tool('look')], capabilities: [] });
  expect(same).toEqual(instructions);
  expect(JSON.stringify(empty)).toBe(JSON.stringify(plain));
});

test('instructions that are functions read the deps of all', async () => {
  const billing = defineCapability({
    name: 'billing',
    instructions: ({ currency }) => `Name amounts in ${currency}.`,
    deps: z.object({ currency: z.string() }),
  });
  const { instructions } = defineAgent({ ...DESK, instructions: 'You answer.', capabilities: [billing] });
  const call = instructions as (deps: { currency: string }) => Promise<string[]>;
  expect(await call({ currency: 'euro' })).toEqual(['You answer.', 'Name amounts in euro.']);
});

test('the records of a run name the capability of each tool and rule', async () => {
  const billing = defineCapability({
    name: 'billing',
    tools: [tool('invoice'), tool('pay')],
    permissions: { deny: [{ tool: 'pay', args: { to: '*' } }] },
  });
  const agent = defineAgent({ ...DESK, tools: [tool('look')], capabilities: [billing] });
  const model = scriptedModel([callTool('invoice'), callTool('look'), say('Done.')]);
  const { steps } = await testAgent(agent, { input: 'Go', model });
  expect(steps[0]?.toolCalls[0]?.capability).toBe('billing');
  expect(steps[1]?.toolCalls[0]).not.toHaveProperty('capability');
  const open = defineTool({ name: 'open', description: 'Opens', parameters: z.object({ to: z.string() }), execute: () => 'open' });
  const doors = defineCapability({ name: 'doors', tools: [open], permissions: { deny: [{ tool: 'open', args: { to: 'x' } }] } });
  const denied = await testAgent(defineAgent({ ...DESK, capabilities: [doors] }), {
    input: 'Go',
    model: scriptedModel([callTool('open', { to: 'x' }), say('Done.')]),
  });
  expect(denied.steps[0]?.toolCalls[0]?.result).toContain('deny: tool "open", to "x" of capability "doors"');
});

const capability = (name: string, options: object): AnyCapability => defineCapability({ name, ...options });

describe('two that do not go together are refused with both names', () => {
  test.each<[string, object, object, string]>([
    ['tools', { tools: [tool('pay')] }, { tools: [tool('pay')] }, 'both have a tool named "pay": rename one'],
    ['MCP servers', { mcp: [server('shop')] }, { mcp: [server('shop')] }, 'both have an MCP server named "shop"'],
    ['hooks', { hooks: [hook('h')] }, { hooks: [hook('h')] }, 'both have a hook named "h"'],
    ['guardrails', { guardrails: [guardrail('g')] }, { guardrails: [guardrail('g')] }, 'both have a guardrail named "g" of type "input"'],
    [
      'deps',
      { deps: z.object({ id: z.string() }) },
      { deps: z.object({ id: z.number() }) },
      'have two schemas of "deps.id" that do not fit each other: use one schema in both',
    ],
  ])('%s', (_, one, other, problem) => {
    const [a, b] = [capability('a', one), capability('b', other)];
    expect(() => defineAgent({ ...DESK, capabilities: [a, b] })).toThrow(UsageError);
    expect(() => defineAgent({ ...DESK, capabilities: [a, b] })).toThrow(`agent "desk": capability "a" and capability "b" ${problem}`);
    const own = { ...DESK, ...one, capabilities: [b] } as never;
    expect(() => defineAgent(own)).toThrow(`agent "desk" and capability "b" ${problem}`);
  });

  test('settings, unless the agent decides', () => {
    const capabilities = [capability('a', { settings: { temperature: 0 } }), capability('b', { settings: { temperature: 1 } })];
    expect(() => defineAgent({ ...DESK, capabilities })).toThrow(
      'agent "desk": capability "a" and capability "b" set "settings.temperature" to 0 and 1: set it in the "settings" of the agent',
    );
    expect(defineAgent({ ...DESK, capabilities, settings: { temperature: 0.5 } }).settings).toEqual({ temperature: 0.5 });
  });
});

test('a field of deps that two have is checked by both', () => {
  const short = capability('short', { deps: z.object({ id: z.string().refine((id) => id.length < 3) }) });
  const lower = capability('lower', { deps: z.strictObject({ id: z.string().refine((id) => id === id.toLowerCase()) }) });
  const { deps } = defineAgent({ ...DESK, capabilities: [short, lower] });
  expect([{ id: 'ab' }, { id: 'abc' }, { id: 'A' }, { id: 'ab', more: 1 }].map((one) => deps?.safeParse(one).success)).toEqual([
    true,
    false,
    false,
    false,
  ]);
});

test.each<[string, z.ZodType, string]>([
  ['a check of the whole', z.object({ b: z.string() }).refine(() => true), 'have a check of the whole object'],
  ['further fields', z.looseObject({ b: z.string() }), 'let in fields that they do not name'],
])('deps with %s are not merged with others', (_, deps, problem) => {
  const one = capability('one', { deps });
  expect(defineAgent({ ...DESK, capabilities: [one] }).deps).toBe(deps);
  const other = capability('other', { deps: z.object({ a: z.string() }) });
  expect(() => defineAgent({ ...DESK, capabilities: [other, one] })).toThrow(`agent "desk": "deps" of capability "one" ${problem}`);
});

test.each<[string, object, string]>([
  ['no name', {}, 'the "name" of a capability is missing'],
  ['a long name', { name: 'n'.repeat(65) }, 'at most 64 characters'],
  ['an unknown option', { name: 'a', tool: [] }, 'capability "a" has an unknown option "tool"'],
  ['no tool', { name: 'a', tools: [{}] }, 'capability "a": "tools" has a value that is not a tool'],
  ['a rule that allows', { name: 'a', permissions: { allow: ['x'] } }, '"permissions.allow" would decide about all calls of an agent'],
  ['a bad rule', { name: 'a', permissions: { ask: [{}] } }, 'capability "a": permissions.ask[0]: the rule is empty'],
  ['a bad setting', { name: 'a', settings: { temperature: 3 } }, 'capability "a": "settings.temperature" is 3'],
  ['bad deps', { name: 'a', deps: z.string() }, 'capability "a": deps are not an object schema'],
  ['bad instructions', { name: 'a', instructions: 5 }, 'capability "a": "instructions" must be a text'],
])('a capability with %s is refused', (_, options, problem) => {
  expect(() => defineCapability(options as never)).toThrow(problem);
});

test.each<[string, object, string]>([
  ['no list', { capabilities: 'refunds' }, '"capabilities" must be a list'],
  ['another value', { capabilities: [{}] }, '"capabilities" has a value that is not a capability: make it with defineCapability'],
  ['one twice', { capabilities: [refunds, refunds] }, 'agent "desk" has two capabilities named "refunds"'],
  ['skills that are not a list', { capabilities: [refunds], skills: './own' }, '"skills" is not a list'],
  [
    'a rule for no tool',
    { capabilities: [capability('a', { permissions: { ask: ['x'] } })] },
    'ask: "x" of capability "a" matches no tool',
  ],
])('an agent with %s is refused', (_, options, problem) => {
  expect(() => defineAgent({ ...DESK, ...options })).toThrow(problem);
});

describe('types', () => {
  const pay = defineTool({
    name: 'pay',
    description: 'Pays',
    parameters: z.object({}),
    resources: ['bank'],
    execute: (_, { deps, resources }: RunContext<{ user: string }, { bank: Map<string, number> }>) => resources.bank.get(deps.user) ?? 0,
  });
  const paying = defineCapability({ name: 'paying', tools: [pay], deps: z.object({ user: z.string(), unit: z.string().default('euro') }) });
  const plain = defineCapability({ name: 'plain', tools: [tool('look')] });

  test("the deps and resources of capabilities become the agent's", () => {
    const agent = defineAgent({ ...DESK, deps: z.object({ locale: z.string() }), capabilities: [paying, plain] });
    expectTypeOf<DepsOf<typeof agent>>().toExtend<{ locale: string; user: string; unit: string }>();
    expectTypeOf<{ locale: string; user: string }>().toExtend<GivenDepsOf<typeof agent>>();
    expectTypeOf<{ locale: string }>().not.toExtend<GivenDepsOf<typeof agent>>();
    expectTypeOf<ResourcesOf<typeof agent>>().toExtend<{ bank: Map<string, number> }>();
  });

  test('an agent without its own deps has the deps of its capabilities', () => {
    const agent = defineAgent({
      ...DESK,
      tools: [pay],
      instructions: ({ user, unit }) => `${user.toUpperCase()} ${unit.toUpperCase()}`,
      capabilities: [defineCapability({ name: 'users', deps: z.object({ user: z.string(), unit: z.string() }) }), plain],
    });
    expectTypeOf<DepsOf<typeof agent>>().toEqualTypeOf<{ user: string; unit: string }>();
  });

  test('a tool needs the deps of its capability, or of one of its agent', () => {
    // @ts-expect-error The capability has no such deps.
    const refused = defineCapability({ name: 'a', tools: [pay], deps: z.object({ locale: z.string() }) });
    // @ts-expect-error Neither the agent nor its capability has such deps.
    const agent = defineAgent({ ...DESK, tools: [pay], capabilities: [plain] });
    expect([refused.name, agent.tools.length]).toEqual(['a', 2]);
  });
});
