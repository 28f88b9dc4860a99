import fc from 'fast-check';
import { expect, test } from 'vitest';
import { RECALL_FRAME } from '../../src/core/domain/memory.ts';
import { recalledEntry, recallText } from '../../src/memory/memory-store.ts';

const when = '2026-01-02T03:04:05.000Z';

test('an entry is shown with its key, its value and its time', () => {
  const timestamp = Date.parse(when) / 1_000;
  expect(recalledEntry({ key: 'k', value: { a: 1 }, timestamp })).toEqual({ key: 'k', value: { a: 1 }, when });
});

test('no entries give no text', () => {
  expect(recallText([], 4_096)).toEqual({ text: '', entries: 0 });
});

test('the value of an entry that does not fit is cut, and the entries after it are left out', () => {
  const { text, entries } = recallText(
    [
      { key: 'a', value: { long: 'ü'.repeat(1_000) }, when },
      { key: 'b', value: 1, when },
    ],
    600,
  );
  expect(entries).toBe(1);
  const { value } = JSON.parse(text.split('\n')[1] ?? '') as { value: string };
  expect(value).toMatch(/^\{"long":"ü+ \[Cut: \d+ of 2011 bytes are missing\]$/);
});

test('every text fits its bytes, and is the frame and one line of JSON for each entry', () => {
  const entry = fc.record({ key: fc.string({ unit: 'binary' }), value: fc.jsonValue(), when: fc.constant(when) });
  fc.assert(
    fc.property(fc.array(entry, { maxLength: 20 }), fc.integer({ min: 300, max: 4_096 }), (given, maxBytes) => {
      const shown = JSON.parse(JSON.stringify(given)) as Parameters<typeof recallText>[0];
      const { text, entries } = recallText(shown, maxBytes);
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
      if (text === '') return;
      const [frame, ...lines] = text.split('\n');
      expect(frame).toBe(RECALL_FRAME);
      expect(lines).toHaveLength(entries);
      // All but the last are whole.
      const read = lines.map((line) => JSON.parse(line) as unknown);
      expect(read.slice(0, -1)).toEqual(shown.slice(0, entries - 1));
    }),
  );
});
