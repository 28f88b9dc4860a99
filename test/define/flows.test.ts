import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AgentRegistry } from '../../activities/agents/agent-registry.ts';
import { checkedAgents } from '../../activities/create-runtime.ts';
import { runInput } from '../../src/client/start-workflow.ts';
import { defineAgent, defineFlow } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';

const one = defineAgent({ name: 'one', model: 'p/m', limits: { steps: 3, toolCalls: 4, costUsd: 1 } });
const two = defineAgent({ name: 'two', model: 'p/m', deps: z.object({ id: z.string() }), limits: { steps: 5, toolCalls: 1 } });
const named = (name: string) => defineAgent({ name, model: 'p/m' });
const BASE = { name: 'flow', kind: 'sequential', agents: [one, two] } as const;

test('a flow is started like an agent, by its name', () => {
  const flow = defineFlow(BASE);
  expect(flow).toMatchObject({
    kind: 'longhaul.agent',
    name: 'flow',
    flow: { kind: 'sequential', agents: ['one', 'two'], maxIterations: 1 },
  });
  expect(runInput(flow, { input: 'Q' })).toEqual({ agent: 'flow', input: 'Q' });
});

test("its limits are the sums of its agents' limits, per round, if all of them have one", () => {
  expect(defineFlow(BASE).limits).toEqual({ steps: 8, toolCalls: 5, finalAttempt: false });
  expect(defineFlow({ ...BASE, kind: 'loop', maxIterations: 2 }).limits).toMatchObject({ steps: 16, toolCalls: 10 });
});

test('the limits of parallel agents are sums, too, with a tool call for the start of each, and the latest deadline', () => {
  const slow = defineAgent({ name: 'slow', model: 'p/m', limits: { toolCalls: 2, deadline: '2h' } });
  const quick = defineAgent({ name: 'quick', model: 'p/m', limits: { toolCalls: 3, deadline: '1h', totalTokens: 10 } });
  const flow = defineFlow({ name: 'flow', kind: 'parallel', agents: [slow, quick] });
  expect(flow.limits).toEqual({ steps: 10, finalAttempt: false, toolCalls: 7, deadlineMs: 7_200_000 });
});

test('a worker with a flow of parallel agents has these agents', () => {
  const flow = defineFlow({ name: 'flow', kind: 'parallel', agents: [one, two] });
  expect(checkedAgents([flow]).map(({ name }) => name)).toEqual(['flow', 'one', 'two']);
});

test('a loop has five rounds, unless an answer ends it', () => {
  const until = z.object({ done: z.literal(true) });
  expect(defineFlow({ ...BASE, kind: 'loop', until }).flow).toMatchObject({
    maxIterations: 5,
    until: { properties: { done: { const: true } } },
  });
});

test('a worker needs the agents of a flow, and no flow among them', () => {
  const provider = scriptedModel([]);
  const flow = defineFlow(BASE);
  expect(() => new AgentRegistry([flow, one], { p: provider })).toThrow(
    'flow "flow": "agents" names the agent "two", which the worker does not have (it has: "flow", "one"): add it to "agents"',
  );
  const handing = defineAgent({ name: 'handing', model: 'p/m', handoffs: ['flow'] });
  expect(() => new AgentRegistry([flow, one, two, handing], { p: provider })).toThrow(
    'agent "handing": "handoffs" names "flow", which is a flow: name agents',
  );
});

test('a start overrides the model of no flow', () => {
  expect(() => runInput(defineFlow(BASE), { input: 'Q', model: 'p/other' })).toThrow('flow "flow" has neither a model nor settings');
});

describe('a flow that cannot work is refused', () => {
  test.each([
    ['no name', { name: ' ' }, 'the "name" of a flow is " "'],
    ['another kind', { kind: 'zigzag' as never }, 'flow "flow": "kind" is "zigzag": write "sequential", "loop" or "parallel"'],
    ['no agents', { agents: [] }, 'flow "flow" has no agents'],
    ['no list', { agents: one as never }, 'flow "flow": "agents" is not a list'],
    ['a name', { agents: ['one' as never] }, 'flow "flow": "agents" has a value that is not an agent'],
    ['one agent twice', { agents: [one, one] }, 'flow "flow": "agents" names "one" twice'],
    ['a flow in a flow', { agents: [defineFlow({ ...BASE, name: 'inner' })] }, 'flow "flow": "agents" names "inner", which is a flow'],
    ['rounds of a sequence', { maxIterations: 2 }, 'flow "flow" is sequential, and "maxIterations" and "until" are for a loop'],
    ['rounds of parallel agents', { kind: 'parallel' as const, until: z.literal(1) }, 'flow "flow" is parallel, and "maxIterations"'],
    [
      'names that are one tool name',
      { kind: 'parallel' as const, agents: [named('a b'), named('a_b')] },
      'flow "flow": two of its agents have the tool name "a_b": rename one of them',
    ],
    ['no round', { kind: 'loop' as const, maxIterations: 0 }, 'flow "flow": "maxIterations" is 0: write a whole number of at least 1'],
    ['an unknown option', { rounds: 2 }, 'flow "flow" has an unknown option "rounds"'],
    ['a pattern as its end', { kind: 'loop' as const, until: z.string().regex(/good/) }, 'a condition cannot have "pattern"'],
    ['an end that is not a schema', { kind: 'loop' as const, until: 'done' as never }, 'flow "flow": "until" is not a schema of zod 4'],
  ])('%s', (_, options: object, message) => {
    expect(() => defineFlow({ ...BASE, ...options })).toThrow(message);
  });
});
