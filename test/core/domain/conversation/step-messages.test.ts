import { expect, test } from 'vitest';
import { type ConversationStep, stepMessages } from '../../../../src/core/domain/content.ts';

function messages(...steps: ConversationStep[]): [string, unknown][] {
  return stepMessages(steps).map(({ role, content }) => [role, content]);
}

test('instructions are a system message, and a task is a message of the user', () => {
  expect(messages({ type: 'system', text: 'S' }, { type: 'task', content: 'T' })).toEqual([
    ['system', 'S'],
    ['user', 'T'],
  ]);
});

test('an empty instruction and an empty task are messages too', () => {
  expect(messages({ type: 'system', text: '' }, { type: 'task', content: '' })).toEqual([
    ['system', ''],
    ['user', ''],
  ]);
});

test('a task keeps its media', () => {
  const content = [{ type: 'image' as const, url: 'https://example.org/a.png' }];
  expect(messages({ type: 'task', content })).toEqual([['user', content]]);
});

test('an action is the answer of the model and the observation', () => {
  expect(messages({ type: 'action', reply: 'r', observation: '4' })).toEqual([
    ['assistant', 'r'],
    ['user', 'Observation: 4'],
  ]);
});

test('an error is told in place of the observation', () => {
  expect(messages({ type: 'action', reply: 'r', observation: '4', error: 'bad' })).toEqual([
    ['assistant', 'r'],
    ['user', 'bad'],
  ]);
});

test('an empty error is none', () => {
  expect(messages({ type: 'action', reply: 'r', observation: '4', error: '' })).toEqual([
    ['assistant', 'r'],
    ['user', 'Observation: 4'],
  ]);
});

test('an action without an answer or without an outcome has no message for it', () => {
  expect(messages({ type: 'action', reply: '', observation: '4' })).toEqual([['user', 'Observation: 4']]);
  expect(messages({ type: 'action', reply: 'r', observation: '' })).toEqual([['assistant', 'r']]);
  expect(messages({ type: 'action', reply: '' })).toEqual([]);
});

test('a note is confirmed, even an empty one', () => {
  expect(messages({ type: 'scratchpad', reply: 'r', note: 'n' }, { type: 'scratchpad', reply: '', note: '' })).toEqual([
    ['assistant', 'r'],
    ['user', 'Scratchpad noted: n'],
    ['user', 'Scratchpad noted: '],
  ]);
});
