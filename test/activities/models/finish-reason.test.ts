import { expect, test } from 'vitest';
import { normalFinishReason } from '../../../activities/models/openai/exchange.ts';

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
  ['content_filter: PROHIBITED_CONTENT', TEXT, 'content_filter'],
  ['stop', { toolCalls: 0, refusal: 'No.' }, 'refusal'],
])('"%s" with %j is "%s"', (word, answer, expected) => {
  expect(normalFinishReason(word, answer)).toBe(expected);
});

test.each(['incomplete', 'insufficient_system_resource', 'error'])(
  'an answer that ended with "%s" is not complete even if it has calls',
  (word) => {
    expect(normalFinishReason(word, CALLS)).toBe(word);
  },
);
