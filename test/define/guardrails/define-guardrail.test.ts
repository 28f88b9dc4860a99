import { describe, expect, test } from 'vitest';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { callRules, contentFilter, defineAgent, defineGuardrail, maxTokens, personalData } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';

const passing = { name: 'fine', type: 'input', check: () => ({ passed: true as const }) } as const;

test('a guardrail has half a minute, and trips if it fails', () => {
  expect(defineGuardrail(passing)).toMatchObject({ kind: 'longhaul.guardrail', timeoutMs: 30_000, failOpen: false, models: [] });
});

test('a worker needs the providers of the models that a guardrail asks', () => {
  const judge = defineGuardrail({ ...passing, name: 'judge', models: ['other/m'] });
  const agent = defineAgent({ name: 'clerk', model: 'scripted/m', guardrails: [judge] });
  expect(() => new AgentRegistry([agent], { scripted: scriptedModel([]) })).toThrow(
    'agent "clerk" uses model "other/m", but the worker has no provider "other" (it has: "scripted"): add it to "providers"',
  );
});

describe('a guardrail that cannot work is refused', () => {
  test.each([
    ['no name', { name: '' }, 'guardrail "": use 1 to 64 letters'],
    ['another type', { type: 'request' }, 'guardrail "fine": "type" is "request": write "input", "output" or "tool_call"'],
    ['no check', { check: undefined as never }, 'guardrail "fine": "check" is missing'],
    ['no time', { timeout: 0 }, 'guardrail "fine": "timeout" is 0'],
    ['a long check of a call', { type: 'tool_call', timeout: '1m' }, 'choose 1 ms to 30 s for a guardrail of type "tool_call"'],
    ['a model without a provider', { models: ['gpt-5' as never] }, 'guardrail "fine"'],
    ['an unknown option', { tripwire: true }, 'guardrail "fine" has an unknown option "tripwire"'],
  ])('%s', (_, options: object, message) => {
    expect(() => defineGuardrail({ ...passing, ...options })).toThrow(message);
  });

  test.each([
    ['a filter of nothing', () => contentFilter({ type: 'input' }), 'guardrail "content-filter" filters nothing'],
    ['rules that are none', () => callRules({}), 'guardrail "call-rules" has no rules'],
    ['an unknown kind of data', () => personalData({ type: 'input', kinds: ['name' as never] }), '"kinds" has "name": choose of email'],
    ['no tokens', () => maxTokens({ type: 'output', limit: 0 }), 'guardrail "max-tokens": "limit" is 0'],
  ])('%s', (_, define, message) => {
    expect(define).toThrow(message);
  });

  test.each([
    ['two of one type and name', [passing, passing], 'agent "clerk" has two guardrails of type "input" named "fine"'],
    ['a plain object', [{ name: 'x' }], 'agent "clerk": "guardrails" has a value that is not a guardrail'],
    ['no list', 'fine', 'agent "clerk": "guardrails" must be a list'],
  ])('%s in an agent', (_, given: unknown, message) => {
    const guardrails = Array.isArray(given) ? given.map((one) => (one === passing ? defineGuardrail(passing) : one)) : given;
    expect(() => defineAgent({ name: 'clerk', model: 'scripted/m', guardrails: guardrails as never })).toThrow(message);
  });
});
