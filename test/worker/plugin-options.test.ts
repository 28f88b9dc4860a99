import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { UsageError } from '../../src/domain/error.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { scriptedModel } from '../../src/testing/index.ts';
import { LonghaulPlugin, type LonghaulPluginOptions } from '../../worker/index.ts';

function pluginWith(options: object): LonghaulPlugin {
  return new LonghaulPlugin({ agents: [], providers: {}, ...options } satisfies LonghaulPluginOptions);
}

describe('prices that are none are refused where the worker is made', () => {
  test.each([
    [{ 'gpt-4o': { input: 1, output: 1 } }, '"prices" has "gpt-4o": write "provider/model"'],
    [{ 'p/m': 2 }, '"prices" of "p/m" are 2: write {input, output, cachedInput} in US dollars per million tokens'],
    [{ 'p/m': { input: 1 } }, '"prices" of "p/m": "output" is undefined: write US dollars per million tokens'],
    [{ 'p/m': { input: -1, output: 1 } }, '"prices" of "p/m": "input" is -1: write US dollars per million tokens'],
    [{ 'p/m': { input: 1, output: 1, cachedInput: '0' } }, '"prices" of "p/m": "cachedInput" is 0: write US dollars per million tokens'],
    [{ 'p/m': { input: 1, output: 1, cached: 0 } }, '"prices" of "p/m" has an unknown option "cached" (known: input, output, cachedInput)'],
  ])('%j', (prices, problem) => {
    expect(() => pluginWith({ prices })).toThrow(new UsageError(`the worker: ${problem}`));
  });

  test('and those of a model that costs nothing are taken', () => {
    expect(pluginWith({ prices: { 'ollama/llama': { input: 0, output: 0 } } })).toBeInstanceOf(LonghaulPlugin);
  });
});

test.each(['authorize', 'notify'])('"%s" has to be a function', (name) => {
  expect(() => pluginWith({ [name]: { as: 'me' } })).toThrow(new UsageError(`the worker: "${name}" is {"as":"me"}: write a function`));
});

test.each([0, -1, 1.5, '5m'])('"archiveTimeoutMs" has to be a number of milliseconds: %j is refused', (archiveTimeoutMs) => {
  expect(() => pluginWith({ archiveTimeoutMs })).toThrow(
    new UsageError(`the worker: "archiveTimeoutMs" is ${archiveTimeoutMs}: write a whole number of at least 1`),
  );
});

describe('a tool that names a resource', () => {
  const audit = defineTool({
    name: 'audit',
    description: 'Audits',
    parameters: z.object({}),
    resources: ['ledger', 'flags'],
    execute: () => 'balanced',
  });
  const agents = [defineAgent({ name: 'auditor', model: 'p/m', tools: [audit] })];
  const options = { agents, providers: { p: scriptedModel([]) } };

  test('is refused by a worker that does not have it, with those that it has', () => {
    expect(() => pluginWith({ ...options, resources: { flags: {}, db: {} } })).toThrow(
      new UsageError(
        'tool "audit" of agent "auditor" needs the resource "ledger", but the worker has none of that name (it has: "flags", "db"): add it to "resources"',
      ),
    );
  });

  test('is taken by one that has it', () => {
    expect(pluginWith({ ...options, resources: { flags: {}, ledger: {} } })).toBeInstanceOf(LonghaulPlugin);
  });
});
