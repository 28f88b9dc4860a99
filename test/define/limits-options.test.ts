import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../src/define/define-agent.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import { UsageError } from '../../src/core/domain/errors.ts';
import type { RunLimits } from '../../src/core/domain/limits.ts';

const search = defineTool({ name: 'search', description: 'Searches.', parameters: z.object({}), execute: () => 'found' });

function limitsOf(options: object): RunLimits {
  return defineAgent({ name: 'bot', model: 'p/m', tools: [search], ...options }).limits;
}

test('an agent without limits has only the default limit of steps, and stops there', () => {
  expect(limitsOf({})).toEqual({ steps: 10, finalAttempt: false });
  expect(limitsOf({ limits: {}, onLimit: 'stop' })).toEqual({ steps: 10, finalAttempt: false });
});

test('an agent may limit all usage of a run, and ask at a limit', () => {
  const limits = {
    steps: 5,
    toolCalls: 20,
    toolCallsByName: { search: 0 },
    inputTokens: 100_000,
    outputTokens: 1,
    totalTokens: 120_000,
    costUsd: 0.25,
    deadline: '1.5h',
  };
  expect(limitsOf({ finalAttempt: true, limits, onLimit: 'ask' })).toEqual({
    steps: 5,
    finalAttempt: true,
    toolCalls: 20,
    toolCallsByName: { search: 0 },
    inputTokens: 100_000,
    outputTokens: 1,
    totalTokens: 120_000,
    costUsd: 0.25,
    deadlineMs: 5_400_000,
    onLimit: 'ask',
  });
});

test.each([
  [{ limits: { steps: '3' as unknown as number } }, '"limits.steps" is "3": write a whole number of at least 1'],
  [{ limits: { toolCalls: '3' as unknown as number } }, '"limits.toolCalls" is "3": write a whole number of at least 0'],
  [{ limits: { toolCalls: -1 } }, '"limits.toolCalls" is -1: write a whole number of at least 0'],
  [{ limits: { inputTokens: 0 } }, '"limits.inputTokens" is 0: write a whole number of at least 1'],
  [{ limits: { outputTokens: 1.5 } }, '"limits.outputTokens" is 1.5: write a whole number of at least 1'],
  [{ limits: { totalTokens: Number.NaN } }, '"limits.totalTokens" is NaN: write a whole number of at least 1'],
  [{ limits: { costUsd: 0 } }, '"limits.costUsd" is 0: write US dollars, more than 0'],
  [{ limits: { costUsd: Infinity } }, '"limits.costUsd" is Infinity: write US dollars, more than 0'],
  [{ limits: { costUsd: '1' } }, '"limits.costUsd" is "1": write US dollars, more than 0'],
  [{ limits: { deadline: 'never' } }, '"limits.deadline" is "never": write milliseconds (at least 1), or a text such as "30s", "5m", "1h"'],
  [{ limits: { toolCallsByName: { search: 0.5 } } }, '"limits.toolCallsByName.search" is 0.5: write a whole number of at least 0'],
  [
    { limits: { toolCallsByName: { serach: 1 } } },
    '"limits.toolCallsByName" names the tool "serach", which the agent does not have (it has: search)',
  ],
  [
    { limits: { maxIterations: 3 } },
    '"limits" has an unknown option "maxIterations" (known: steps, toolCalls, toolCallsByName, inputTokens, outputTokens, totalTokens, costUsd, deadline)',
  ],
  [{ onLimit: 'raise' }, '"onLimit" is "raise": write "stop" or "ask"'],
])('%j is refused where the agent is defined', (options, problem) => {
  expect(() => limitsOf(options)).toThrow(new UsageError(`agent "bot": ${problem}`));
});
