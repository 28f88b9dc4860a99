import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { BYTE_BUDGETS, jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import { boundedNotes, laterTexts, namedNotes, toldArguments, withNotes } from '../../../src/core/domain/notes.ts';

describe('notes on a result', () => {
  it('are absent if there is nothing to say', () => {
    const result = { content: ['paid'], resultId: 'r1' };
    expect(withNotes(result)).toBe(result);
  });

  it('follow earlier ones, and take the id of the result, whose cached content lacks them', () => {
    expect(withNotes({ content: ['paid'], resultId: 'r1', notes: ['one'] }, 'two', 'three')).toEqual({
      content: ['paid'],
      notes: ['one', 'two', 'three'],
    });
  });

  it('name the call that they are about', () => {
    expect(namedNotes({ name: 'refund', toolCallId: 'call_1', notes: ['mind the gap'] })).toEqual([
      'About the call of "refund" (call_1): mind the gap',
    ]);
  });

  it('are cut one by one, and left out from the end if all of them are too long', () => {
    const [cut = ''] = boundedNotes(['x'.repeat(20_000)]);
    expect(jsonBytes(cut)).toBeLessThanOrEqual(BYTE_BUDGETS.note);
    expect(cut).toMatch(/bytes are missing\]$/);
    const notes = boundedNotes(Array.from({ length: 6 }, (_, index) => `${index}${'x'.repeat(9_000)}`));
    expect(notes.map((note) => note.slice(0, 7))).toEqual(['0xxxxxx', '1xxxxxx', '2xxxxxx', '3xxxxxx', 'Further']);
    expect(boundedNotes([...notes, 'one more'])).toEqual(notes);
  });

  it('stay within their budget, whatever they are', () => {
    fc.assert(
      fc.property(fc.array(fc.string({ maxLength: 30_000, size: 'max' }), { maxLength: 8 }), (notes) => {
        const bytes = boundedNotes(notes).reduce((sum, note) => sum + jsonBytes(note), 0);
        expect(bytes).toBeLessThanOrEqual(BYTE_BUDGETS.notes);
      }),
      { numRuns: 30 },
    );
  });
});

test('the texts after the first value of a result are a note, without media', () => {
  expect(laterTexts(['refused'])).toEqual([]);
  expect(laterTexts(['refused', { type: 'image', data: 'AAAA' }])).toEqual([]);
  expect(laterTexts(['refused', 'paid', { id: 7 }])).toEqual(['paid\n{"id":7}']);
});

describe('of edited arguments the model is told', () => {
  const written = { amount: 9, note: 'n' };
  test.each([
    ['all, if an approver changed them', written, { amount: 1, note: 'n' }, { amount: 1, note: 'n' }],
    ['what is left, if an approver removed one', written, { amount: 9 }, { amount: 9 }],
    ['nothing, if the approver sent them back', written, { note: 'n', amount: 9 }, undefined],
    ['nothing, if the approver sent back what a hook wrote', { amount: 5, tenant: 't7' }, { tenant: 't7', amount: 5 }, undefined],
    ['nothing, if the approver restored what the model wrote', { amount: 5, tenant: 't7' }, { amount: 9, note: 'n' }, undefined],
    ['nothing, if the approver removed only what a hook added', { ...written, tenant: 't7', of: 1 }, { ...written, of: 1 }, undefined],
    [
      'what the approver changed and the model wrote, and nothing that a hook wrote',
      { amount: 9, note: 'by a hook', tenant: 't7' },
      { amount: 1, note: 'by a hook', tenant: 't7' },
      { amount: 1 },
    ],
  ])('%s', (_, shown, edited, told) => {
    expect(toldArguments({ written, shown, edited })).toEqual(told);
  });
});
