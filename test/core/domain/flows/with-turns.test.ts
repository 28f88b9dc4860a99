import { expect, test } from 'vitest';
import { withTurns } from '../../../../src/core/domain/handoffs.ts';
import { RECALL_FRAME } from '../../../../src/core/domain/memory.ts';
import type { ConversationEvent } from '../../../../src/core/domain/model.ts';

const say = (author: string, content: string): ConversationEvent => ({
  author,
  content: [{ type: 'message', role: author === 'user' ? 'user' : 'assistant', content }],
});
const lines = (conversation: ConversationEvent[]): string[] => withTurns(conversation).map(({ author }) => author);

test('an agent that goes on from the answer of another one reads that it is its turn', () => {
  expect(lines([say('user', 'Q'), say('a', '1')])).toEqual(['user', 'a', 'user']);
  expect(lines([say('user', 'Q'), say('a', '1'), say('b', '2'), say('user', 'more')])).toEqual(['user', 'a', 'user', 'b', 'user']);
});

test('a conversation in which the user follows each answer is left as it is', () => {
  const conversation = [say('user', 'Q'), say('a', '1'), say('user', 'more')];
  expect(withTurns(conversation)).toEqual(conversation);
});

test('a call and its result are no answer', () => {
  const calling: ConversationEvent = { author: 'a', content: [{ type: 'tool_call', toolCallId: 'c', name: 'find', arguments: {} }] };
  expect(lines([say('user', 'Q'), calling])).toEqual(['user', 'a']);
});

test('what an agent has recalled does not stand for the message of its turn', () => {
  const recall: ConversationEvent = { author: 'memory', content: [{ type: 'message', role: 'user', content: RECALL_FRAME }] };
  expect(lines([say('user', 'Q'), say('a', '1'), recall])).toEqual(['user', 'a', 'user', 'memory']);
  expect(lines([say('user', 'Q'), recall, say('a', '1'), recall, say('b', '2'), say('user', 'more')])).toEqual([
    'user',
    'memory',
    'a',
    'user',
    'memory',
    'b',
    'user',
  ]);
});
