import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FrameLines } from '../../../../activities/executors/process/cell-process.ts';

test('lines are the same in whatever parts they arrive', () => {
  fc.assert(
    fc.property(
      fc.array(fc.string({ unit: 'grapheme' }).map((line) => line.replaceAll('\n', ' '))),
      fc.integer({ min: 1, max: 7 }),
      (texts, size) => {
        const bytes = Buffer.from(texts.map((line) => `${line}\n`).join(''));
        const lines = new FrameLines(1_000_000);
        const read: string[] = [];
        for (let at = 0; at < bytes.length; at += size) read.push(...(lines.add(bytes.subarray(at, at + size)) ?? []));
        expect(read).toEqual(texts.map((line) => line.toWellFormed()));
      },
    ),
  );
});

test('a line that is too long is refused, before its end arrives', () => {
  const lines = new FrameLines(5);
  expect(lines.add(Buffer.from('12345\n123'))).toEqual(['12345']);
  expect(lines.add(Buffer.from('456'))).toBeUndefined();
});
