import { describe, expect, expectTypeOf, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineFlow } from '../../src/index.ts';

const plain = defineAgent({ name: 'plain', model: 'p/m' });
const flow = defineFlow({ name: 'desk', kind: 'sequential', agents: [plain] });
const shop = defineAgent({
  name: 'shop',
  model: 'p/m',
  deps: z.object({ tenant: z.string(), locale: z.string().optional() }),
  output: z.object({ answer: z.string() }),
});

describe('a tool made of an agent', () => {
  test('has the name of the agent and the parameter request, and pins nothing else', () => {
    const tool = agentTool(plain);
    expect(tool).toMatchObject({ name: 'plain', agent: { name: 'plain', share: [], request: true, definition: plain } });
    expect(tool.schema).toMatchObject({ properties: { request: { type: 'string' } }, required: ['request'] });
    expect(tool.agent?.final).toBeUndefined();
  });

  test('takes its own options', () => {
    const tool = agentTool(shop, {
      name: 'ask_shop',
      description: 'Asks the shop',
      parameters: z.object({ order: z.number() }),
      share: ['tenant'],
      limits: { steps: 3, deadline: '1m' },
      final: true,
      approval: 'always',
    });
    expect(tool).toMatchObject({
      name: 'ask_shop',
      description: 'Asks the shop',
      callers: ['model'],
      approval: { when: 'always' },
      agent: { name: 'shop', share: ['tenant'], limits: { steps: 3, deadlineMs: 60_000 }, final: true },
    });
    expect(tool.agent?.request).toBeUndefined();
    expectTypeOf(tool.execute).returns.toEqualTypeOf<{ answer: string }>();
  });

  test('may name an agent of the worker', () => {
    expect(agentTool('plain', { name: 'ask' }).agent).toEqual({ name: 'plain', share: [], request: true });
  });

  test('may be kept between its calls', () => {
    expect(agentTool(plain, { kept: true }).agent?.kept).toBe(true);
    expect(agentTool(plain, { kept: false }).agent?.kept).toBeUndefined();
  });

  test('never runs as code', () => {
    expect(() => agentTool(plain).execute({ request: '' }, undefined as never)).toThrow('its calls are separate runs');
  });
});

test.each([
  [() => agentTool(undefined as never), 'agentTool: the first argument is not an agent'],
  [() => agentTool(''), 'agentTool: the name of the agent is "": write a text'],
  [() => agentTool('two words'), 'tool "two words": providers refuse this name'],
  [() => agentTool(plain, { final: true, callers: ['model', 'code'] }), 'leave "code" out of "callers"'],
  [() => agentTool(plain, { kept: 'yes' as never }), 'tool "plain": "kept" is "yes": write true or false'],
  [() => agentTool(plain, { kept: true, final: true }), '"kept" is for further calls: leave one of them out'],
  [() => agentTool(flow, { kept: true }), 'tool "desk": "desk" is a flow, which ends with its answer: leave "kept" out'],
  [() => agentTool(plain, { share: 'tenant' as never }), 'tool "plain": "share" is "tenant": write a list'],
  [
    () => agentTool(shop, { share: ['tenant', 'cart'] }),
    'tool "shop": "share": the deps of agent "shop" have no field "cart" (they have: tenant, locale)',
  ],
  [() => agentTool(shop), 'tool "shop": "share": agent "shop" requires the field "tenant" of its deps: share it'],
  [() => agentTool(plain, { limits: { steps: 0 } }), '"limits.steps" is 0'],
  [() => agentTool(plain, { tier: 'local' } as never), 'tool "plain" has an unknown option "tier"'],
  [() => defineAgent({ name: 'a', model: 'p/m', children: { depth: -1 } }), 'agent "a": "children.depth" is -1'],
  [() => defineAgent({ name: 'a', model: 'p/m', children: { depth: 21 } }), '"children.depth" is 21: write at most 20'],
  [() => defineAgent({ name: 'a', model: 'p/m', children: { alive: 0 } }), '"children.alive" is 0'],
  [() => defineAgent({ name: 'a', model: 'p/m', children: { perTree: 1.5 } }), '"children.perTree" is 1.5'],
  [() => defineAgent({ name: 'a', model: 'p/m', children: { deep: 1 } as never }), 'unknown option "deep"'],
])('an agent as a tool that cannot work is refused (%#)', (define, message) => {
  expect(define).toThrow(message);
});
