import { describe, expect, test } from 'vitest';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { namedAgent } from '../../../activities/agents/handoffs.ts';
import { checkRunInput } from '../../../src/core/input-checks.ts';
import { defineAgent, defineFlow } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';

const one = defineAgent({ name: 'one', model: 'p/m' });
const two = defineAgent({ name: 'two', model: 'p/m' });
const inner = defineFlow({ name: 'inner', kind: 'sequential', agents: [one] });
const registry = new AgentRegistry([one, two, inner], { p: scriptedModel([]) });
const sequence = { kind: 'sequential', agents: ['one', 'two'] } as const;

test('an order in the input of a run is the flow that a definition would be', () => {
  const defined = defineFlow({ name: 'f', kind: 'sequential', agents: [one, two] });
  const { flow, limits, name } = namedAgent(registry, { agent: 'f', flow: { ...sequence, agents: [...sequence.agents] } });
  expect({ flow, limits, name }).toEqual({ flow: defined.flow, limits: defined.limits, name: 'f' });
  expect(namedAgent(registry, { agent: 'one' })).toBe(one);
});

test('parallel agents may be in the input of a run, too', () => {
  const { flow, tools } = namedAgent(registry, { agent: 'f', flow: { kind: 'parallel', agents: ['one', 'two'] } });
  expect(flow).toEqual({ name: 'f', kind: 'parallel', agents: ['one', 'two'], maxIterations: 1 });
  expect(tools.map(({ agent }) => agent)).toMatchObject([
    { name: 'one', branch: true },
    { name: 'two', branch: true },
  ]);
});

describe('an order that cannot work is refused', () => {
  test.each([
    ['a flow in it', { kind: 'loop' as const, agents: ['one', 'inner'] }, 'Flow "f" cannot start: "inner" is a flow: name agents'],
    [
      'rounds of a sequence',
      { kind: 'sequential' as const, agents: ['one'], maxIterations: 2 },
      '"maxIterations" and "until" are for a loop',
    ],
    ['an end with a pattern', { kind: 'loop' as const, agents: ['one'], until: { pattern: 'good' } }, 'a condition cannot have "pattern"'],
    ['an agent that the worker lacks', { kind: 'loop' as const, agents: ['three'] }, 'No agent "three" is registered in this worker'],
  ])('%s', (_, flow, message) => {
    expect(() => namedAgent(registry, { agent: 'f', flow })).toThrow(message);
  });

  test.each([
    ['kind', { ...sequence, kind: 'zigzag' }],
    ['agents', { ...sequence, agents: [] }],
    ['agents', { ...sequence, agents: ['one', 'one'] }],
    ['agents', { ...sequence, agents: [7] }],
    ['maxIterations', { kind: 'loop', agents: ['one'], maxIterations: 0 }],
    ['rounds', { ...sequence, rounds: 2 }],
  ])('a forged %s, with its path', (field, flow) => {
    expect(checkRunInput({ agent: 'f', input: 'Q', flow })).toMatchObject({ ok: false, problem: expect.stringContaining(`flow`) });
    expect(checkRunInput({ agent: 'f', input: 'Q', flow })).toMatchObject({ problem: expect.stringContaining(field) });
  });
});
