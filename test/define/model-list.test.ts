import { describe, expect, test } from 'vitest';
import { modelsOfAgent } from '../../activities/agents/resolve-agent.ts';
import { AgentRegistry } from '../../activities/agents/agent-registry.ts';
import { windowPolicy } from '../../activities/agents/build-snapshot.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { type AgentOptions, defineAgent } from '../../src/define/define-agent.ts';
import type { ModelName } from '../../src/core/domain/model.ts';
import { withOverrides } from '../../src/define/model-settings.ts';
import { scriptedModel } from '../../src/testing/index.ts';

type Listed = Pick<AgentOptions<never, never>, 'model' | 'fallback' | 'outputMode'>;

const define = (options: Listed): AnyAgent => defineAgent({ name: 'bot', ...options });

describe('the models of an agent', () => {
  test('a list pins its order and its rules', () => {
    const agent = define({
      model: ['anthropic/claude-sonnet-4-5', 'openai/gpt-5'],
      fallback: { on: ['model_rate_limited'], coolDown: '10s', returnAt: 'call' },
    });
    expect(agent.model).toBe('anthropic/claude-sonnet-4-5');
    expect(agent.fallback).toEqual({
      models: ['anthropic/claude-sonnet-4-5', 'openai/gpt-5'],
      on: ['model_rate_limited'],
      coolDownMs: 10_000,
      returnAt: 'call',
    });
  });

  test('the defaults are left out, and a list of one model is that model', () => {
    const spelt = define({ model: ['p/a', 'p/b'], fallback: { on: 'default', returnAt: 'turn' } });
    expect(spelt.fallback).toEqual({ models: ['p/a', 'p/b'] });
    expect(define({ model: ['p/a'] })).toEqual(define({ model: 'p/a' }));
  });

  test('the model of a start takes the place of the whole list', () => {
    const agent = define({ model: ['p/a', 'p/b'] });
    expect(withOverrides(agent, { model: 'p/c' })).toMatchObject({ model: 'p/c' });
    expect(withOverrides(agent, { model: 'p/c' })).not.toHaveProperty('fallback');
    expect(withOverrides(agent, { settings: { temperature: 0 } }).fallback).toEqual(agent.fallback);
  });

  const nine = Array.from({ length: 9 }, (_, index): ModelName => `p/${index}`);
  test.each<[what: string, options: object, says: string]>([
    ['an empty list', { model: [] }, 'agent "bot": "model" is an empty list: name at least one model'],
    [
      'the same model twice',
      { model: ['p/a', 'p/b', 'p/a'] },
      'agent "bot": "model[2]" is "p/a", and so is "model[0]": name each model once',
    ],
    ['more than eight', { model: nine }, 'agent "bot": "model" has 9 models, up to "model[8]": name at most 8'],
    [
      'a name without a provider',
      { model: ['p/a', 'gpt-5'] },
      'agent "bot": "model[1]": model "gpt-5" has no provider: write "provider/model"',
    ],
    ['no text', { model: ['p/a', 7] }, 'agent "bot": "model[1]" is 7: write a text'],
    [
      'rules without a list',
      { model: 'p/a', fallback: {} },
      'agent "bot" has "fallback" and one model: write a list, model: ["p/a", "provider/model"]',
    ],
    [
      'an unknown rule',
      { model: ['p/a', 'p/b'], fallback: { cooldown: 1 } },
      'has an unknown option "cooldown" (known: on, coolDown, maxWait, returnAt). Did you mean "coolDown"?',
    ],
    ['a wrong time', { model: ['p/a', 'p/b'], fallback: { returnAt: 'step' } }, '"fallback.returnAt" is "step": write "turn" or "call"'],
    ['an invalid wait', { model: ['p/a', 'p/b'], fallback: { maxWait: 'soon' as never } }, '"fallback.maxWait" is "soon"'],
    ['a negative time', { model: ['p/a', 'p/b'], fallback: { coolDown: -1 } }, '"fallback.coolDown" is -1'],
    [
      'no list of codes',
      { model: ['p/a', 'p/b'], fallback: { on: [] } },
      '"fallback.on" is []: write "default" or a list of codes of errors',
    ],
    [
      'a refusal',
      { model: ['p/a', 'p/b'], fallback: { on: ['model_timeout', 'model_refusal'] } },
      '"fallback.on[1]" is "model_refusal": write one of ',
    ],
    ['a filter', { model: ['p/a', 'p/b'], fallback: { on: ['content_filter'] } }, '"fallback.on[0]" is "content_filter": write one of '],
    ['a conversation that is too long', { model: ['p/a', 'p/b'], fallback: { on: ['context_length_exceeded'] } }, '"fallback.on[0]" is'],
  ])('%s is refused', (_, options, says) => {
    expect(() => define(options as Listed)).toThrow(says);
  });

  test('a worker without the provider of one of them names its place', () => {
    const agent = define({ model: ['p/a', 'other/b'] });
    expect(() => new AgentRegistry([agent], { p: scriptedModel([]) })).toThrow(
      'agent "bot" uses model "other/b" ("model[1]"), but the worker has no provider "other" (it has: "p"): add it to "providers"',
    );
  });
});

describe('the fields of a list that the snapshot pins', () => {
  const clients = {
    provider: (model: string) => ({
      ...scriptedModel([]),
      capabilities: { structuredOutput: !model.startsWith('plain/'), ...(model.startsWith('own/') ? { contextTokens: 50_000 } : {}) },
    }),
  };

  test('the size of each model: as its client says, or by its name', () => {
    const { fallback } = modelsOfAgent(define({ model: ['a/claude-x', 'own/m'] }), clients);
    expect(fallback).toEqual({
      models: [
        { model: 'a/claude-x', contextTokens: 200_000 },
        { model: 'own/m', contextTokens: 50_000 },
      ],
    });
  });

  test('the window is the window of the smallest model', () => {
    const agent = define({ model: ['a/claude-x', 'own/m'] });
    const { capabilities } = modelsOfAgent(agent, clients);
    expect(windowPolicy(agent, capabilities).maxTokens).toBe(
      windowPolicy(define({ model: 'own/m' }), clients.provider('own/m').capabilities).maxTokens,
    );
  });

  test('a form of answers that only some models can enforce is given by a call', () => {
    const structured = (model: readonly ModelName[]): boolean => modelsOfAgent(define({ model }), clients).capabilities.structuredOutput;
    expect([structured(['a/x', 'a/y']), structured(['a/x', 'plain/y'])]).toEqual([true, false]);
  });

  test('a single model is pinned as before', () => {
    expect(modelsOfAgent(define({ model: 'a/x' }), clients)).toEqual({ capabilities: { structuredOutput: true } });
  });
});
