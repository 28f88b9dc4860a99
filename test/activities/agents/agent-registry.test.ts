import { expect, test } from 'vitest';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { defineAgent } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';

const provider = scriptedModel([]);
const one = defineAgent({ name: 'one', model: 'p/m' });

test('two agents with the same name are refused', () => {
  expect(() => new AgentRegistry([one, defineAgent({ name: 'one', model: 'p/other' })], { p: provider })).toThrow(
    'two agents are named "one"',
  );
});

test('an agent whose provider is missing is refused, and the error lists the existing providers', () => {
  expect(() => new AgentRegistry([one], { q: provider })).toThrow(
    'agent "one" uses model "p/m", but the worker has no provider "p" (it has: "q")',
  );
});

test('an unknown agent or provider is named in the error, with those that exist', () => {
  const registry = new AgentRegistry([one], { p: provider });
  expect(registry.agent('one')).toBe(one);
  expect(() => registry.agent('two')).toThrow(
    expect.objectContaining({ code: 'unknown_agent', message: expect.stringContaining('It has: "one"') }),
  );
  expect(registry.provider('p/a/b')).toBe(provider);
  expect(() => registry.provider('q/m')).toThrow(expect.objectContaining({ code: 'unknown_provider' }));
  expect(() => registry.provider('m')).toThrow(expect.objectContaining({ code: 'unknown_provider' }));
});
