import { expect, test } from 'vitest';
import type { ConversationEvent } from '../../../../src/core/domain/model.ts';
import { jsonTemperature } from '../../../../src/model/reply-formats.ts';

const user: ConversationEvent = { author: 'user', content: [{ type: 'message', role: 'user', content: 'Q' }] };

function called(name: string, status: 'success' | 'error', text: string): ConversationEvent[] {
  return [
    { author: 'a', content: [{ type: 'tool_call', toolCallId: 'c', name, arguments: {} }] },
    { author: 'a', content: [{ type: 'tool_result', toolCallId: 'c', name, status, content: [text] }] },
  ];
}

const unusable = called('unusable_reply', 'error', 'no JSON');
const invalid = called('add', 'error', "Invalid arguments for 'add': expected number");

test("begins at 0.7, or at the agent's temperature", () => {
  expect(jsonTemperature([user])).toBe(0.7);
  expect(jsonTemperature([user], 0.1)).toBe(0.1);
});

test('rises by 0.2 after replies that could not be used and after invalid arguments, to 2 at most', () => {
  expect(jsonTemperature([user, ...unusable])).toBe(0.9);
  expect(jsonTemperature([user, ...unusable, ...invalid])).toBe(1.1);
  expect(jsonTemperature([user, ...Array.from({ length: 30 }, () => unusable).flat()])).toBe(2);
});

test('does not rise after results, errors of tools and unknown tools, and does not fall', () => {
  const others = [...called('add', 'success', '3'), ...called('add', 'error', 'nope'), ...called('x', 'error', "Tool 'x' not found")];
  expect(jsonTemperature([user, ...others])).toBe(0.7);
  expect(jsonTemperature([user, ...unusable, ...others])).toBe(0.9);
});

test('starts over with each message of a user', () => {
  expect(jsonTemperature([user, ...unusable, ...unusable, user])).toBe(0.7);
  expect(jsonTemperature([user, ...unusable, user, ...invalid])).toBe(0.9);
});
