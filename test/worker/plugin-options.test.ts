import { describe, expect, test } from 'vitest';
import { UsageError } from '../../src/domain/error.ts';
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
