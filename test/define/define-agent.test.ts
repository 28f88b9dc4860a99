import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import { UsageError } from '../../src/core/domain/errors.ts';

const search = defineTool({
  name: 'search',
  description: 'Searches.',
  parameters: z.object({ query: z.string() }),
  execute: () => 'found',
});
const BASE = { name: 'bot', model: 'openai/gpt-x' as const, tools: [search] };

test('an agent has documented defaults', () => {
  const agent = defineAgent({ name: 'bot', model: 'gateway/vendor/model' });
  expect(agent).toMatchObject({
    kind: 'longhaul.agent',
    model: 'gateway/vendor/model',
    tools: [],
    settings: {},
    limits: { steps: 10, finalAttempt: false },
    parallel: true,
    modelTimeoutMs: 600_000,
    modelMaxAttempts: 8,
  });
  expect(agent.instructions).toContain('step by step');
  expect(agent).not.toHaveProperty('output');
});

describe('an output schema', () => {
  test('is enforced by the provider if possible, with two retries', () => {
    const { output } = defineAgent({ ...BASE, output: z.object({ answer: z.string(), note: z.string().optional() }) });
    expect(output).toMatchObject({ strict: true, mode: undefined, maxRetries: 2 });
    expect(output?.schema).toMatchObject({ required: ['answer'] });
    expect(output?.providerSchema).toMatchObject({ required: ['answer', 'note'] });
  });

  test('that is not an object is given through final_answer, and is strict there', () => {
    const { output } = defineAgent({ ...BASE, output: z.union([z.string(), z.array(z.number())]) });
    expect(output).toMatchObject({ mode: 'final_answer', strict: true });
  });

  test('without a strict form is validated by Longhaul alone', () => {
    const { output } = defineAgent({ ...BASE, output: z.object({ scores: z.record(z.string(), z.number()) }) });
    expect(output).toMatchObject({ strict: false, strictProblem: '"scores" is a record' });
  });
});

test.each([
  ['no name', { name: '' }, 'the "name" of an agent is ""'],
  ['a name of several lines', { name: 'a\nb' }, 'a name is one line of at most 100 characters'],
  ['a model without provider', { model: 'gpt-x' }, 'agent "bot": model "gpt-x" has no provider: write "provider/model"'],
  ['a model with an empty provider', { model: '/gpt-x' }, 'model "/gpt-x" has no provider: write "provider/model"'],
  ['a provider without model', { model: 'openai/' }, 'model "openai/" has no name after the provider'],
  ['two tools of one name', { tools: [search, search] }, 'agent "bot" has two tools named "search": give each its own name'],
  ['something that is no tool', { tools: [{ name: 'x' }] }, 'agent "bot": "tools" has a value that is not a tool'],
  ['instructions that are a number', { instructions: 7 }, 'agent "bot": "instructions" must be'],
  ['no steps', { limits: { steps: 0 } }, 'agent "bot": "limits.steps" is 0: write a whole number of at least 1'],
  ['half a step', { limits: { steps: 2.5 } }, '"limits.steps" is 2.5'],
  ['no attempts', { modelMaxAttempts: 0 }, '"modelMaxAttempts" is 0'],
  ['a patience of no time', { modelPatience: -1 }, '"modelPatience" is -1'],
  ['a patience that is longer than the server waits', { modelPatience: '6d' }, '"modelPatience" is "6d": write at most 432000000'],
  ['a negative retry', { outputRetries: -1, output: z.object({}) }, '"outputRetries" is -1'],
  ['no time for the model', { modelTimeout: -5 }, '"modelTimeout" is -5'],
  ['a misspelt option', { maxSteps: 5 }, 'agent "bot" has an unknown option "maxSteps"'],
  ['a misspelt setting', { settings: { temprature: 1 } }, 'agent "bot": "settings" has an unknown option "temprature"'],
  ['a hot temperature', { settings: { temperature: 3 } }, 'agent "bot": "settings.temperature" is 3: write a number from 0 to 2'],
  ['a temperature that is not a number', { settings: { temperature: Number.NaN } }, '"settings.temperature" is NaN'],
  ['no output tokens', { settings: { maxOutputTokens: 0 } }, '"settings.maxOutputTokens" is 0'],
  [
    'a choice of an unknown tool',
    { settings: { toolChoice: { tool: 'nope' } } },
    'names the tool "nope", which the agent does not have (it has: search)',
  ],
  [
    'a required tool without tools',
    { tools: [], settings: { toolChoice: 'required' } },
    '"settings.toolChoice" is "required", but the agent has no tools',
  ],
  [
    'a choice in every step that is not a boolean',
    { settings: { toolChoice: { tool: 'search', every: 1 } } },
    '"settings.toolChoice".every is 1',
  ],
  ['a choice of a tool and something else', { settings: { toolChoice: { tool: 'search', once: true } } }, 'unknown option "once"'],
  [
    'a choice that requires nothing',
    { settings: { toolChoice: { required: false } } },
    '"settings.toolChoice" is {"required":false}: write "auto"',
  ],
  ['a choice of nothing', { settings: { toolChoice: null } }, '"settings.toolChoice" is null'],
  [
    'a required tool without tools, in every step',
    { tools: [], settings: { toolChoice: { required: true, every: true } } },
    'has no tools',
  ],
  ['think tags of another kind', { settings: { thinkTags: false } }, '"settings.thinkTags" is false: write "reasoning" or "text"'],
  ['a choice in words', { settings: { toolChoice: 'any' } }, '"settings.toolChoice" is "any"'],
  [
    'an unknown word as effort',
    { settings: { reasoningEffort: 'maximum' } },
    '"settings.reasoningEffort" is "maximum": write one of "none", "minimal", "low"',
  ],
  ['extras that are not an object', { settings: { extra: [] } }, '"settings.extra" must be an object'],
  ['a date in the output', { output: z.object({ when: z.date() }) }, 'agent "bot": output.when: dates cannot be represented in JSON'],
  [
    'a transform in the output',
    { output: z.object({ n: z.string().transform(Number) }) },
    'agent "bot": output.n: what a transform returns',
  ],
  ['schema mode for a list', { output: z.array(z.string()), outputMode: 'schema' }, 'agent "bot": output is not an object schema'],
  ['an unknown mode', { output: z.object({}), outputMode: 'magic' }, '"outputMode" is "magic"'],
  ['deps that are not an object', { deps: z.string() }, 'agent "bot": deps are not an object schema'],
  ['a map in the deps', { deps: z.object({ m: z.map(z.string(), z.string()) }) }, 'agent "bot": deps.m: maps'],
])('%s is a usage error', (_, change, message) => {
  const define = (): unknown => defineAgent({ ...BASE, ...change } as never);
  expect(define).toThrow(UsageError);
  expect(define).toThrow(message);
});
