import { expect, test } from 'vitest';
import { defineAgent } from '../../src/define/define-agent.ts';
import type { WindowOptions } from '../../src/define/agent-definition.ts';
import { UsageError } from '../../src/core/domain/errors.ts';

function windowOf(window?: WindowOptions): WindowOptions {
  return defineAgent({ name: 'bot', model: 'p/m', ...(window === undefined ? {} : { window }) }).window;
}

test('an agent without a window option has the window of its model', () => {
  expect(windowOf()).toEqual({});
});

test.each<[WindowOptions]>([
  [{ maxTokens: 100, maxBytes: 1_000, keepResults: 0, summarize: false }],
  [{ maxTokens: 1_000_000, maxBytes: 1_200_000, keepResults: 50, summaryModel: 'gateway/vendor/small' }],
])('the window may be limited by %j', (window) => {
  expect(windowOf(window)).toEqual(window);
});

test.each<[WindowOptions, string]>([
  [{ maxTokens: 99 }, '"window.maxTokens" is 99: write a whole number of at least 100'],
  [{ maxTokens: 1_000.5 }, '"window.maxTokens" is 1000.5: write a whole number of at least 100'],
  [{ maxBytes: 999 }, '"window.maxBytes" is 999: write a whole number of at least 1000'],
  [{ maxBytes: 1_200_001 }, '"window.maxBytes" is 1200001: a run can carry on at most 1200000'],
  [{ keepResults: -1 }, '"window.keepResults" is -1: write a whole number of at least 0'],
  [{ summaryModel: 'small' as 'p/small' }, '"window.summaryModel" is "small": write "provider/model"'],
  [{ summaryModel: '/small' }, '"window.summaryModel" is "/small": write "provider/model"'],
  [{ summaryModel: 'p/' }, '"window.summaryModel" is "p/": write "provider/model"'],
])('a window of %j is refused where the agent is defined', (window, problem) => {
  expect(() => windowOf(window)).toThrow(new UsageError(`agent "bot": ${problem}`));
});

test('a misspelt option is refused, with the list of options', () => {
  const window = { maxToken: 1_000 } as WindowOptions;
  expect(() => windowOf(window)).toThrow(
    '"window" has an unknown option "maxToken" (known: maxTokens, maxBytes, keepResults, summarize, summaryModel)',
  );
});
