import fc from 'fast-check';
import { expect, test } from 'vitest';
import { modelSummary, toolSummary, verifySummary } from '../../src/calls/summaries.ts';

test('a model call says which step it is, which model, and how much is new', () => {
  const call = { step: 2, through: 5, lastEventId: 'e', newEvents: 3, final: false };
  expect(modelSummary(call, 'openai/gpt-x')).toBe('step 2 · gpt-x · 3 messages new');
  expect(modelSummary({ ...call, newEvents: 1, final: true }, 'openai/gpt-x')).toBe('step 2 (final) · gpt-x · 1 message new');
});

test('a tool call says what it is called with', () => {
  expect(toolSummary('search_web', { query: 'Kipchoge marathon record' })).toBe('search_web: Kipchoge marathon record');
  expect(toolSummary('now', {})).toBe('now');
  expect(toolSummary('add', { a: 1, b: [2] })).toBe('add: 1, [2]');
});

test('the question what became of a call says why it is asked, however long the arguments are', () => {
  const pay = { name: 'pay', arguments: { amount: 5 } };
  expect(verifySummary(pay, 'its worker was lost')).toBe('what became of pay (answer lost: its worker was lost): 5');
  expect(verifySummary({ ...pay, arguments: { text: 'x'.repeat(2_000) } }, 'its worker was lost')).toContain('its worker was lost');
});

test('whatever the arguments, a summary fits the 400 bytes that the server takes', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(fc.string({ unit: 'binary', maxLength: 2_000 }), fc.integer())), (args) => {
      const bytes = new TextEncoder().encode(JSON.stringify(toolSummary('t', args))).length;
      expect(bytes).toBeLessThanOrEqual(400);
    }),
  );
});
