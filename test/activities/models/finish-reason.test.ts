import { expect, test } from 'vitest';
import { normalFinishReason } from '../../../activities/models/openai/finish-reason.ts';

const CALLS = { toolCalls: 1, refusal: '' };
const TEXT = { toolCalls: 0, refusal: '' };

test.each([
  ['stop', CALLS, 'tool_calls'],
  ['STOP', CALLS, 'tool_calls'],
  [undefined, CALLS, 'tool_calls'],
  ['tool-calls', CALLS, 'tool_calls'],
  ['stop', TEXT, 'stop'],
  ['max_tokens', CALLS, 'length'],
  ['model_length', CALLS, 'length'],
  ['content_filter', CALLS, 'content_filter'],
  ['stop', { toolCalls: 0, refusal: 'No.' }, 'refusal'],
])('"%s" beside %j is "%s"', (word, answer, expected) => {
  expect(normalFinishReason(word, answer)).toBe(expected);
});

test.each(['incomplete', 'insufficient_system_resource', 'error'])(
  'calls do not make a whole answer of one that ended with "%s"',
  (word) => {
    expect(normalFinishReason(word, CALLS)).toBe(word);
  },
);
