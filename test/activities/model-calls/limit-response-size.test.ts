import { describe, expect, test } from 'vitest';
import { limitPartialText, limitResponseSize } from '../../../activities/model-calls/recorded-answer.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import type { ToolCall } from '../../../src/core/domain/content.ts';
import { errorCode, errorMessage } from '../../../src/core/domain/errors.ts';
import type { RecordedResponse } from '../../../src/core/domain/model.ts';

function saying(text: string): RecordedResponse {
  return { id: 'e1', content: [{ type: 'message', role: 'assistant', content: text }], finishReason: 'stop', usage: null };
}

function call(id: string, bytes: number, name = 'write_file'): ToolCall {
  return { type: 'tool_call', toolCallId: id, name, arguments: { body: 'x'.repeat(bytes - '{"body":""}'.length) } };
}

function calling(...calls: ToolCall[]): RecordedResponse {
  return { id: 'e1', content: calls, finishReason: 'tool_calls', usage: null };
}

function failure(response: RecordedResponse): { code: string | undefined; message: string } {
  try {
    limitResponseSize(response, 'openai/gpt-5');
  } catch (error) {
    return { code: errorCode(error), message: errorMessage(error) };
  }
  throw new Error('It fits');
}

describe('the text of a response', () => {
  const room = BYTE_BUDGETS.modelText - jsonBytes(saying(''));

  test.each([
    ['one byte below the budget', room - 1],
    ['at the budget', room],
  ])('%s is unchanged', (_, length) => {
    const response = saying('x'.repeat(length));
    expect(limitResponseSize(response, 'openai/gpt-5')).toBe(response);
  });

  test('one byte above the budget gives an error that names the model and the remedy', () => {
    expect(failure(saying('x'.repeat(room + 1)))).toEqual({
      code: 'payload_too_large',
      message:
        'The answer of model "openai/gpt-5" is 400001 bytes of JSON without the arguments of its calls, over 400000: lower "maxOutputTokens".',
    });
  });

  test('of an aborted answer is cut', () => {
    const text = limitPartialText('é'.repeat(BYTE_BUDGETS.modelText));
    expect(jsonBytes(text)).toBeLessThanOrEqual(BYTE_BUDGETS.modelText);
    expect(text).toMatch(/^é+ \[Cut: \d+ of 800000 bytes are missing\]$/u);
    expect(limitPartialText('short')).toBe('short');
  });
});

describe('the arguments of a call', () => {
  test.each([
    ['one byte below the budget', BYTE_BUDGETS.toolArguments - 1],
    ['at the budget', BYTE_BUDGETS.toolArguments],
  ])('%s are unchanged', (_, bytes) => {
    const response = calling(call('c1', bytes));
    expect(limitResponseSize(response, 'openai/gpt-5')).toBe(response);
  });

  test('one byte above the budget are left out, and the rest of the response is unchanged', () => {
    const small = call('c2', 100);
    const { content, problems } = limitResponseSize(calling(call('c1', BYTE_BUDGETS.toolArguments + 1), small), 'openai/gpt-5');
    expect(content).toEqual([{ ...call('c1', 20), arguments: {} }, small]);
    expect(problems).toEqual({
      c1: "The arguments of 'write_file' are too large: 400001 bytes of JSON, over 400000. They were left out, and the tool was not called. Call it with less.",
    });
  });

  test('of a call whose id is a keyword of JavaScript are answered too', () => {
    const { problems } = limitResponseSize(calling(call('__proto__', BYTE_BUDGETS.toolArguments + 1)), 'openai/gpt-5');
    expect(Object.keys(problems ?? {})).toEqual(['__proto__']);
  });

  test('that are left out take the entries about them with them', () => {
    const response = { ...calling(call('c1', BYTE_BUDGETS.toolArguments + 1, 'final_answer')), output: { type: 'fits' as const } };
    expect(limitResponseSize(response, 'openai/gpt-5')).not.toHaveProperty('output');
  });
});

describe('a whole response', () => {
  test('of 200 calls with 5 kB of arguments each is unchanged', () => {
    const response = calling(...Array.from({ length: 200 }, (_, index) => call(`c${index}`, 5_000)));
    expect(limitResponseSize(response, 'openai/gpt-5')).toBe(response);
  });

  test.each([
    ['one byte below the budget', -1, 0],
    ['at the budget', 0, 0],
    ['one byte above the budget', 1, 1],
  ])('%s', (_, more, left) => {
    const first = [call('c1', 390_000), call('c2', 390_000), call('c3', 390_000)];
    const room = BYTE_BUDGETS.modelResponse - jsonBytes(calling(...first, call('c4', 20))) + 20;
    const response = calling(...first, call('c4', room + more));
    const fitting = limitResponseSize(response, 'openai/gpt-5');
    expect(jsonBytes(fitting)).toBeLessThanOrEqual(BYTE_BUDGETS.modelResponse);
    expect(Object.keys(fitting.problems ?? {})).toEqual(left === 0 ? [] : ['c4']);
    expect(fitting.content.slice(0, 3)).toEqual(first);
  });

  test('with too many calls keeps the first, and every other call is answered', () => {
    const response = calling(...Array.from({ length: 1_000 }, (_, index) => call(`c${index}`, 5_000)));
    const fitting = limitResponseSize(response, 'openai/gpt-5');
    const dropped = Object.keys(fitting.problems ?? {});
    expect(jsonBytes(fitting)).toBeLessThanOrEqual(BYTE_BUDGETS.modelResponse);
    expect(jsonBytes(fitting)).toBeGreaterThan(BYTE_BUDGETS.modelResponse - 20_000);
    expect(dropped).toEqual(Array.from({ length: dropped.length }, (_, index) => `c${1_000 - dropped.length + index}`));
    expect(fitting.content.slice(0, 1_000 - dropped.length)).toEqual(response.content.slice(0, 1_000 - dropped.length));
  });

  test('with more calls than can be named is an error', () => {
    expect(failure(calling(...Array.from({ length: 10_000 }, (_, index) => call(`c${index}`, 20))))).toMatchObject({
      code: 'payload_too_large',
      message: expect.stringContaining('model "openai/gpt-5"'),
    });
  });

  test('with a problem that quotes too much is cut', () => {
    const { problems } = limitResponseSize({ ...calling(call('c1', 20)), problems: { c1: 'x'.repeat(9_000) } }, 'openai/gpt-5');
    expect(jsonBytes(problems?.['c1'])).toBeLessThanOrEqual(BYTE_BUDGETS.errorMessage);
    expect(problems?.['c1']).toMatch(/\[Cut: \d+ of 9000 bytes are missing\]$/u);
  });
});
