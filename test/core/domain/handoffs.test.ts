import { expect, test } from 'vitest';
import { type Branch, mergeBranches, mergeEvents, withTurns } from '../../../src/core/domain/handoffs.ts';
import { newEvent } from '../../../src/core/domain/record.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import { RECALL_FRAME } from '../../../src/core/domain/memory.ts';
import type { ConversationEvent } from '../../../src/core/domain/model.ts';

function branch(name: string, more: Partial<Branch> = {}): Branch {
  return { name, status: 'completed', output: `from ${name}`, error: null, usage: { ...noUsage(), totalTokens: 2, llmCalls: 1 }, ...more };
}

test("the output lists each agent's output under its name, separated by blank lines", () => {
  const merged = mergeBranches([branch('a'), branch('b', { output: { n: 1 } })]);
  expect(merged.output).toBe('[a]\nfrom a\n\n[b]\n{"n":1}');
  expect(merged.usage).toMatchObject({ totalTokens: 4, llmCalls: 2 });
  expect(merged.problem).toBeUndefined();
});

test('there is a problem if a branch has failed or waits, and the output has the others', () => {
  const merged = mergeBranches([
    branch('a'),
    branch('b', { status: 'error', error: 'down' }),
    branch('c', { status: 'pending_confirmation' }),
  ]);
  expect(merged).toMatchObject({ output: '[a]\nfrom a', problem: 'b (error: down), c (pending_confirmation)' });
});

test('merged events have the input once', () => {
  const record = (author: string) => ['user', author].map((by, index) => newEvent({ id: `${author}-${index}`, now: 0 }, author, by));
  expect(mergeEvents([record('a'), record('b')]).map(({ author }) => author)).toEqual(['user', 'a', 'b']);
  expect(mergeEvents([])).toEqual([]);
});

const say = (author: string, content: string): ConversationEvent => ({
  author,
  content: [{ type: 'message', role: author === 'user' ? 'user' : 'assistant', content }],
});
const lines = (conversation: ConversationEvent[]): string[] => withTurns(conversation).map(({ author }) => author);

test("an agent that continues after another agent's answer is told that it is its turn", () => {
  expect(lines([say('user', 'Q'), say('a', '1')])).toEqual(['user', 'a', 'user']);
  expect(lines([say('user', 'Q'), say('a', '1'), say('b', '2'), say('user', 'more')])).toEqual(['user', 'a', 'user', 'b', 'user']);
});

test('a conversation where the user follows each answer is not changed', () => {
  const conversation = [say('user', 'Q'), say('a', '1'), say('user', 'more')];
  expect(withTurns(conversation)).toEqual(conversation);
});

test('a call and its result do not count as an answer', () => {
  const calling: ConversationEvent = { author: 'a', content: [{ type: 'tool_call', toolCallId: 'c', name: 'find', arguments: {} }] };
  expect(lines([say('user', 'Q'), calling])).toEqual(['user', 'a']);
});

test("recalled texts do not replace the message that starts an agent's turn", () => {
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
