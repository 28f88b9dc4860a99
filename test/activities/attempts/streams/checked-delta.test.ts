import fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkedDelta } from '../../../../activities/model-calls/ask-model.ts';

test('a piece of an answer is passed on without anything else', () => {
  expect(checkedDelta({ type: 'text', text: 'A', more: 1 })).toEqual({ type: 'text', text: 'A' });
  expect(checkedDelta({ type: 'reasoning', text: 'hm' })).toEqual({ type: 'reasoning', text: 'hm' });
  const call = { type: 'tool_input', callId: 'c1', toolName: 'f', text: '' };
  expect(checkedDelta({ ...call, more: 1 })).toEqual(call);
});

test('ids and names have the length that they are recorded with', () => {
  const long = checkedDelta({ type: 'tool_input', callId: 'c'.repeat(1e6), toolName: 'f'.repeat(1e6), text: '' });
  expect(long).toEqual({ type: 'tool_input', callId: 'c'.repeat(64), toolName: 'f'.repeat(128), text: '' });
  expect(checkedDelta({ type: 'tool_input', callId: 7, text: '{' })).toEqual({ type: 'tool_input', callId: '', toolName: '', text: '{' });
});

test('an empty text, another type and a getter that throws are ignored', () => {
  const throwing = {
    get type(): string {
      throw new Error('boom');
    },
  };
  for (const given of [{ type: 'text', text: '' }, { type: 'data', text: 'x' }, { type: 'text' }, 'text', null, throwing])
    expect(checkedDelta(given)).toBeUndefined();
});

test('any value is a piece of an answer or ignored', () => {
  fc.assert(
    fc.property(fc.anything({ withBigInt: true, withNullPrototype: true }), (given) => {
      const delta = checkedDelta(given);
      expect(delta === undefined || typeof delta.text === 'string').toBe(true);
    }),
  );
});
