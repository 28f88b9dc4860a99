import { expect, test } from 'vitest';
import { windowPolicy } from '../../../activities/agents/build-snapshot.ts';
import { type AgentOptions, defineAgent } from '../../../src/define/define-agent.ts';
import type { WindowPolicy } from '../../../src/core/domain/agent.ts';

function policyOf(options: Partial<AgentOptions<never, never>>, contextTokens?: number): WindowPolicy {
  const capabilities = { structuredOutput: true, ...(contextTokens === undefined ? {} : { contextTokens }) };
  return windowPolicy(defineAgent({ name: 'bot', model: 'openai/gpt-4o', ...options }), capabilities);
}

test("by default, the window is the model's window, less an eighth for the answer and a tenth for the error of the estimate", () => {
  expect(policyOf({})).toEqual({ maxTokens: Math.floor(128_000 * 0.875 * 0.9), maxBytes: 1_000_000, keepResults: 4, summarize: true });
});

test("the agent chooses the room for the answer, up to half of the model's window", () => {
  expect(policyOf({ settings: { maxOutputTokens: 28_000 } }).maxTokens).toBe(90_000);
  expect(policyOf({ settings: { maxOutputTokens: 127_000 } }).maxTokens).toBe(57_600);
});

test('the window that a provider declares for its model wins over the window that is known for the name', () => {
  expect(policyOf({}, 16_000).maxTokens).toBe(12_600);
});

test('the window that the agent declares wins over both', () => {
  const window = { maxTokens: 5_000, maxBytes: 20_000, keepResults: 0, summarize: false, summaryModel: 'openai/small' } as const;
  expect(policyOf({ window }, 16_000)).toEqual(window);
});
