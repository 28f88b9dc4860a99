import fc from 'fast-check';
import { expect, test } from 'vitest';
import { callSummary, modelSummary, verifySummary } from '../../../src/core/activity-requests/activity-request.ts';

test('the summary of a model call has its step, its model, and the number of new events', () => {
  const call = { step: 2, through: 5, lastEventId: 'e', newEvents: 3, final: false };
  expect(modelSummary(call, 'openai/gpt-x')).toBe('step 2 · gpt-x · 3 messages new');
  expect(modelSummary({ ...call, newEvents: 1, final: true }, 'openai/gpt-x')).toBe('step 2 (final) · gpt-x · 1 message new');
});

test("the summary of a tool call has its arguments and the model's reason if there is one, but not the name of the activity", () => {
  expect(callSummary({ query: 'Kipchoge marathon record' }, null)).toBe('Kipchoge marathon record');
  expect(callSummary({ query: 'his record' }, 'I need\nhis pace first.')).toBe('his record · I need his pace first.');
  expect(callSummary({}, 'What time is it?')).toBe('What time is it?');
  expect(callSummary({}, null)).toBeUndefined();
  expect(callSummary({ a: 1, b: [2] }, null)).toBe('1, [2]');
});

test('the summary of a call begins with the label of its tool', () => {
  expect(callSummary({ order: 42 }, 'It arrived broken.', 'Refund')).toBe('Refund · 42 · It arrived broken.');
  expect(callSummary({ order: 42 }, null, 'Refund')).toBe('Refund · 42');
  expect(callSummary({}, null, 'Refund')).toBe('Refund');
});

test('the longest label leaves room for arguments and the first words of the thought', () => {
  const label = 'L'.repeat(60);
  const summary = callSummary({ text: 'a'.repeat(5_000) }, `The invoice says so, ${'and so on, '.repeat(1_000)}`, label);
  expect(summary).toMatch(/^L{60} · a{110,}… · The invoice says so[^·]*…$/);
});

test('the summary of a verification gives its reason, however long the arguments are', () => {
  const pay = { name: 'pay', arguments: { amount: 5 } };
  expect(verifySummary(pay, 'its worker was lost')).toBe('what became of pay (answer lost: its worker was lost): 5');
  expect(verifySummary({ ...pay, arguments: { text: 'x'.repeat(2_000) } }, 'its worker was lost')).toContain('its worker was lost');
});

test('long arguments leave room for the first words of the thought', () => {
  expect(callSummary({ text: 'a'.repeat(5_000) }, `The invoice says so, ${'and so on, '.repeat(1_000)}`)).toMatch(
    /^a{110,}… · The invoice says so, and so on, [^·]*…$/,
  );
});

test('every summary fits into the 400 bytes of the server, for any label, arguments and thought', () => {
  const text = fc.string({ unit: 'binary', maxLength: 2_000 });
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.oneof(text, fc.integer())), fc.option(text), text, (args, thought, label) => {
      const bytes = new TextEncoder().encode(JSON.stringify(callSummary(args, thought, label) ?? '')).length;
      expect(bytes).toBeLessThanOrEqual(400);
    }),
  );
});
