import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { BYTE_BUDGETS } from '../../../src/core/domain/byte-budgets.ts';
import { needsResponse } from '../../../src/core/domain/content.ts';
import { checkRunInput } from '../../../src/core/wire-schemas/run-input-schema.ts';
import { conversation } from '../domain/conversations.ts';

const said = (role: string, content: unknown = 'x'): object => ({ type: 'message', role, content });
const call = (toolCallId: string, more: object = {}): object => ({ type: 'tool_call', toolCallId, name: 't', arguments: {}, ...more });
const result = (toolCallId: string, more: object = {}): object => ({
  type: 'tool_result',
  toolCallId,
  name: 't',
  status: 'success',
  content: [],
  ...more,
});
const spilled = { store: 'files', claim: { key: 'k' }, bytes: 7, sha256: '00' };

test.each<[string, object]>([
  ['before an input', { messages: [said('user'), said('assistant')], input: 'And?' }],
  ['of none before an input', { messages: [], input: 'Q' }],
  ['alone, if the user has the last word', { messages: [said('user')] }],
  ['alone, if a result has the last word', { messages: [said('user'), call('c1'), result('c1')] }],
  ['alone, if a call has the last word', { messages: [said('user'), call('c1')] }],
  ['with parts', { messages: [said('user', [{ type: 'image', url: 'u' }])] }],
  ['with results of any values, in any order', { messages: [call('c1'), call('c2'), result('c2', { content: [1, null] }), result('c1')] }],
  ['with a result in a payload store', { messages: [call('c1'), result('c1', { spilled })] }],
])('a conversation %s starts a run', (_, opening) => {
  const value = { agent: 'a', ...opening };
  expect(checkRunInput(value)).toEqual({ ok: true, input: value });
});

test.each<[string, unknown, string]>([
  ['no list', 'x', 'messages: expected array, got string'],
  ['an unknown type', [said('user'), { type: 'shout' }], 'messages[1].type: expected "message", "tool_call" or "tool_result", got "shout"'],
  ['no item', [null], 'messages[0]: expected object, got null'],
  ['content that is none', [said('user', 7)], 'messages[0].content: expected string or array, got number'],
  ['an unknown field', [{ ...said('user'), name: 'ann' }], 'messages[0]: unknown field "name"'],
  ['arguments as text', [call('c1', { arguments: '{}' })], 'messages[0].arguments: expected object, got string'],
  ['a call without an id', [call('')], 'messages[0].toolCallId: expected at least 1 character, got 0'],
  [
    'a part without a source',
    [said('user', [{ type: 'image' }])],
    'messages[0].content[0]: expected exactly one of "url" and "data", got neither',
  ],
  [
    'a second call of an id',
    [call('c1'), result('c1'), call('c1')],
    'messages[2]: expected a "toolCallId" that no earlier call has, got "c1"',
  ],
  ['a result without a call', [said('user'), result('c9')], misplaced(1, 'c9')],
  ['a result before its call', [result('c1'), call('c1')], misplaced(0, 'c1')],
  ['a second result', [call('c1'), result('c1'), result('c1')], misplaced(2, 'c1')],
  ['a result after another message', [call('c1'), said('user'), result('c1')], misplaced(2, 'c1')],
  ['a result after another answer', [call('c1'), call('c2'), result('c2'), call('c3'), result('c1')], misplaced(4, 'c1')],
])('a conversation with %s is refused with the path, with an input and without', (_, messages, problem) => {
  for (const more of [{}, { input: 'Q' }]) {
    expect(checkRunInput({ agent: 'a', messages, ...more })).toEqual({ ok: false, code: 'invalid_input', problem });
  }
});

function misplaced(index: number, id: string): string {
  return `messages[${index}]: expected the result of a call in the answer right before it that has none yet, got one of "${id}"`;
}

test.each<[string, object[], string]>([
  ['ends with an answer', [said('user'), said('assistant'), said('system')], '"messages" end with an answer of the assistant'],
  ['is empty', [], '"messages" are empty'],
])('a conversation that %s needs an input', (_, messages, why) => {
  const problem = `${why}: give "input", what the user says next`;
  expect(checkRunInput({ agent: 'a', messages })).toEqual({ ok: false, code: 'invalid_input', problem, lacksInput: true });
});

test('of many problems, the first are listed', () => {
  const checked = checkRunInput({ agent: 'a', messages: Array.from({ length: 1_000 }, (_, index) => result(`c${index}`)) });
  expect(checked).toMatchObject({
    ok: false,
    problem: expect.stringMatching(/^messages\[0\]: .*messages\[19\]: .*; and 980 more problems$/) as string,
  });
});

test('every conversation as models have it starts a run exactly if it needs a response, or with an input', () => {
  fc.assert(
    fc.property(conversation, (messages) => {
      expect(checkRunInput({ agent: 'a', messages, input: 'Q' }).ok).toBe(true);
      expect(checkRunInput({ agent: 'a', messages }).ok).toBe(messages.length > 0 && needsResponse(messages));
    }),
  );
});

describe('a conversation has a size, together with the input', () => {
  const { startInput } = BYTE_BUDGETS;
  const around = '[{"type":"message","role":"user","content":""}]'.length + '"Q"'.length;

  test.each<[string, number, string | undefined]>([
    ['at the budget', startInput, undefined],
    [
      'one byte above it',
      startInput + 1,
      'messages: 400001 bytes of JSON together with the input, over 400000: leave out or summarise the oldest',
    ],
  ])('%s', (_, bytes, problem) => {
    const value = { agent: 'a', input: 'Q', messages: [said('user', 'x'.repeat(bytes - around))] };
    const expected = problem === undefined ? { ok: true, input: value } : { ok: false, code: 'payload_too_large', problem };
    expect(checkRunInput(value)).toEqual(expected);
  });

  test('of thousands of small messages', () => {
    const messages = Array.from({ length: 8_000 }, (_, index) => said(index % 2 === 0 ? 'user' : 'assistant', ''));
    expect(checkRunInput({ agent: 'a', input: 'Q', messages }).ok).toBe(true);
  });
});
