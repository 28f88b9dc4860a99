import { expect, test } from 'vitest';
import { type Branch, mergeBranches, mergeEvents } from '../../../../src/core/domain/handoffs.ts';
import { newEvent } from '../../../../src/core/domain/record.ts';
import { noUsage } from '../../../../src/core/domain/usage.ts';

function branch(name: string, more: Partial<Branch> = {}): Branch {
  return { name, status: 'completed', output: `from ${name}`, error: null, usage: { ...noUsage(), totalTokens: 2, llmCalls: 1 }, ...more };
}

test('the output has that of each agent under its name, separated by blank lines', () => {
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
