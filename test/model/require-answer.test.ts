import { describe, expect, test } from 'vitest';
import { ModelCallError } from '../../src/core/domain/errors.ts';
import type { ModelResponse } from '../../src/core/domain/model.ts';
import { readCallsInText, requireAnswer } from '../../src/model/answer-text.ts';

const CALL = { id: 'c', name: 'f', arguments: '{}' };

function errorOf(response: unknown, options = {}): unknown {
  try {
    requireAnswer({ content: '', toolCalls: [], usage: null, finishReason: 'stop', ...(response as Partial<ModelResponse>) }, 'm', options);
    return undefined;
  } catch (error) {
    return error instanceof ModelCallError ? [error.code, error.message] : error;
  }
}

describe('a response that answers nothing is a failure that quotes its finish reason', () => {
  test.each<[string, Partial<ModelResponse> | object, string, string]>([
    ['nothing', {}, 'model_no_answer', 'is empty (finish reason "stop")'],
    ['blanks', { content: ' \n\t' }, 'model_no_answer', 'is empty'],
    ['characters that cannot be seen', { content: '\u200b\u200d \u2060\ufeff' }, 'model_no_answer', 'is empty'],
    ['nothing, without a finish reason', { finishReason: '' }, 'model_no_answer', 'is empty (no finish reason)'],
    ['nothing, cut off at its length', { finishReason: 'length' }, 'model_no_answer', '"length"'],
    ['nothing, with an unknown word', { finishReason: 'gave_up' }, 'model_no_answer', '"gave_up"'],
    ['reasoning alone', { content: '<think>I call the tool</think>\n' }, 'model_no_answer', 'has reasoning alone'],
    ['reasoning that was cut off', { content: '<think>Hm, the', finishReason: 'length' }, 'model_no_answer', 'has reasoning alone'],
    [
      'announced calls without one',
      { content: 'I look.', finishReason: 'tool_calls' },
      'model_no_answer',
      'announces tool calls and has none',
    ],
    ['announced calls in the old word', { finishReason: 'function_call' }, 'model_no_answer', 'announces tool calls and has none'],
    ['an error', { content: 'It is', finishReason: 'error' }, 'model_no_answer', 'did not finish its answer (finish reason "error")'],
    ['an abort', { content: 'It is', finishReason: 'abort' }, 'model_no_answer', '"abort"'],
    ['an abort with a call', { toolCalls: [CALL], finishReason: 'abort' }, 'model_no_answer', '"abort"'],
    ['a malformed call', { finishReason: 'MALFORMED_FUNCTION_CALL' }, 'model_no_answer', '"MALFORMED_FUNCTION_CALL"'],
    ['a lack of resources', { content: 'It', finishReason: 'insufficient_system_resource' }, 'model_no_answer', 'did not finish'],
    ['a network error', { content: 'It', finishReason: 'network_error' }, 'model_no_answer', 'did not finish'],
    [
      'a filter',
      { content: 'It', finishReason: 'content_filter' },
      'content_filter',
      'withheld the answer (content filter) (finish reason "content_filter")',
    ],
    ['a filter in the words of Gemini', { finishReason: 'SAFETY' }, 'content_filter', '"SAFETY"'],
    ['a filter in the words of Cohere', { content: 'It', finishReason: 'ERROR_TOXIC' }, 'content_filter', '"ERROR_TOXIC"'],
    ['a language that the model does not have', { content: 'It', finishReason: 'LANGUAGE' }, 'model_no_answer', 'did not finish'],
    ['a signature that is missing', { finishReason: 'MISSING_THOUGHT_SIGNATURE' }, 'model_no_answer', 'did not finish'],
    ['a cancellation at the provider', { content: 'It', finishReason: 'USER_CANCEL' }, 'model_no_answer', 'did not finish'],
    [
      'a limit of the context in the words of Cohere',
      { content: 'It', finishReason: 'ERROR_LIMIT' },
      'context_length_exceeded',
      'was full',
    ],
    ['a filter with a call', { toolCalls: [CALL], finishReason: 'content-filter' }, 'content_filter', 'withheld'],
    ['a full context', { content: 'It is', finishReason: 'model_context_window_exceeded' }, 'context_length_exceeded', 'was full'],
    [
      'null in every field',
      { content: null, toolCalls: null, structured: null, refusal: null, finishReason: null },
      'model_no_answer',
      'no finish reason',
    ],
    ['fields of other types', { content: 5, toolCalls: 'x', finishReason: {} }, 'model_no_answer', 'is empty'],
  ])('%s', (_, response, code, message) => {
    expect(errorOf(response)).toEqual([code, expect.stringContaining(message)]);
  });

  test('no object at all', () => {
    expect(() => requireAnswer(null as unknown as ModelResponse, 'm')).toThrow('is empty');
  });
});

test.each<[string, Partial<ModelResponse>]>([
  ['text', { content: 'Hello.' }],
  ['text behind reasoning', { content: '<think>Hm</think>Hello.' }],
  ['text that was cut off at its length', { content: 'Hel', finishReason: 'length' }],
  ['text with an unknown word', { content: 'Hello.', finishReason: 'gave_up' }],
  ['text without a finish reason', { content: 'Hello.', finishReason: '' }],
  ['calls', { toolCalls: [CALL], finishReason: 'tool_calls' }],
  ['calls that were cut off', { toolCalls: [CALL], finishReason: 'length' }],
  ['a structured value', { structured: { a: 1 } }],
  ['an empty structured value', { structured: {} }],
  ['false as a structured value', { structured: false }],
  ['a refusal', { refusal: 'No.' }],
  ['a refusal by the finish reason alone', { finishReason: 'refusal' }],
])('%s is an answer', (_, response) => {
  expect(errorOf(response)).toBeUndefined();
});

test('an empty answer may be handled by the caller, and a failed one may not', () => {
  expect(errorOf({}, { mayBeEmpty: true })).toBeUndefined();
  expect(errorOf({ finishReason: 'error' }, { mayBeEmpty: true })).toEqual(['model_no_answer', expect.stringContaining('"error"')]);
});

describe('tool calls that are the whole text', () => {
  const tools = [{ name: 'weather' }, { name: 'pay' }];
  const read = (content: string, more: Partial<ModelResponse> = {}): ModelResponse =>
    readCallsInText({ content, toolCalls: [], usage: null, finishReason: 'stop', ...more }, tools);
  const OSLO = '<tool_call>\n{"name":"weather","arguments":{"city":"Oslo"}}\n</tool_call>';
  const oslo = { name: 'weather', arguments: { city: 'Oslo' } };

  test.each([
    ['one call', OSLO, [oslo]],
    ['two calls', `${OSLO}\n${OSLO}`, [oslo, oslo]],
    ['a call after reasoning', `<think>I look.</think>\n${OSLO}`, [oslo]],
  ])('%s are read', (_, content, calls) => {
    expect(read(content)).toMatchObject({ content: '', toolCalls: calls, finishReason: 'tool_calls' });
  });

  test.each<[string, string, Partial<ModelResponse>?]>([
    ['text before it', `I look. ${OSLO}`],
    ['text behind it', `${OSLO} Done.`],
    ['no closing tag', OSLO.slice(0, -5)],
    ['no opening tag', OSLO.slice(11)],
    ['an unknown tool', OSLO.replace('weather', 'rm')],
    ['JSON that is cut', OSLO.replace('}}', '}')],
    ['JSON in another spelling', OSLO.replaceAll('"', "'")],
    ['no arguments', '<tool_call>{"name":"pay"}</tool_call>'],
    ['arguments as text', '<tool_call>{"name":"pay","arguments":"{}"}</tool_call>'],
    ['further fields', '<tool_call>{"name":"pay","arguments":{},"x":1}</tool_call>'],
    ['a second call that is broken', `${OSLO}<tool_call>{</tool_call>`],
    ['a code fence', `\`\`\`\n${OSLO}\n\`\`\``],
    ['a separate call', OSLO, { toolCalls: [CALL] }],
    ['a refusal', OSLO, { refusal: 'No.' }],
    ['a cut at its length', OSLO, { finishReason: 'length' }],
    ['an unknown finish reason', OSLO, { finishReason: 'gave_up' }],
  ])('with %s stay text', (_, content, more = {}) => {
    const given = { content, toolCalls: [], usage: null, finishReason: 'stop', ...more };
    expect(readCallsInText(given, tools)).toBe(given);
  });
});
