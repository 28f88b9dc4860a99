import { expect, test } from 'vitest';
import { fitMessages } from '../../../src/client/saved-context.ts';
import type { ContentItem } from '../../../src/core/domain/content.ts';
import { jsonBytes } from '../../../src/core/domain/byte-budgets.ts';

function result(toolCallId: string, length: number): ContentItem {
  return { type: 'tool_result', toolCallId, name: 'look', status: 'success', content: ['x'.repeat(length)] };
}

test('the oldest results become markers until the conversation fits, and short ones stay', () => {
  const messages = [result('a', 10), result('b', 1_000), result('c', 1_000), result('d', 1_000)];
  const fitting = fitMessages(messages, 2_500);
  expect(fitting.evicted).toBe(1);
  expect(fitting.messages[1]).toMatchObject({
    toolCallId: 'b',
    content: [expect.stringMatching(/^\[removed to save space: .* 1004 bytes\]$/)],
  });
  expect([fitting.messages[0], ...fitting.messages.slice(2)]).toEqual([messages[0], ...messages.slice(2)]);
  expect(jsonBytes(fitting.messages)).toBeLessThanOrEqual(2_500);
});

test('a conversation that fits is unchanged, and one of messages alone stays too large', () => {
  const messages: ContentItem[] = [{ type: 'message', role: 'user', content: 'x'.repeat(1_000) }];
  expect(fitMessages(messages, 2_000)).toEqual({ messages, evicted: 0 });
  expect(fitMessages(messages, 100)).toEqual({ messages, evicted: 0 });
});
