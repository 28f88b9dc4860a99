import { expect, test } from 'vitest';
import { windowPolicy } from '../../../activities/agents/window-policy.ts';
import type { AgentOptions } from '../../../src/define/agent-options.ts';
import { defineAgent } from '../../../src/define/define-agent.ts';
import type { WindowPolicy } from '../../../src/core/domain/agent/compaction.ts';

function policyOf(options: Partial<AgentOptions<never, never>>, contextTokens?: number): WindowPolicy {
  const capabilities = { structuredOutput: true, ...(contextTokens === undefined ? {} : { contextTokens }) };
  return windowPolicy(defineAgent({ name: 'bot', model: 'openai/gpt-4o', ...options }), capabilities);
}

test('by default a window takes what the model takes, less an eighth for its answer and a tenth for what is only estimated', () => {
  expect(policyOf({})).toEqual({ maxTokens: Math.floor(128_000 * 0.875 * 0.9), maxBytes: 1_000_000, keepResults: 4, summarise: true });
});

test('the room for the answer is what the agent says, but at most half of what the model takes', () => {
  expect(policyOf({ settings: { maxOutputTokens: 28_000 } }).maxTokens).toBe(90_000);
  expect(policyOf({ settings: { maxOutputTokens: 127_000 } }).maxTokens).toBe(57_600);
});

test('what a provider says of its model counts more than its name', () => {
  expect(policyOf({}, 16_000).maxTokens).toBe(12_600);
});

test('what the agent says counts most', () => {
  const window = { maxTokens: 5_000, maxBytes: 20_000, keepResults: 0, summarise: false, summaryModel: 'openai/small' } as const;
  expect(policyOf({ window }, 16_000)).toEqual(window);
});
