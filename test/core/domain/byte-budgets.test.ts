import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import fc from 'fast-check';
import { z } from 'zod';
import {
  BYTE_BUDGETS,
  cutContent,
  cutMarker,
  jsonBytes,
  MAX_PAYLOAD_BYTES,
  MAX_QUEUED_MESSAGES,
} from '../../../src/core/domain/byte-budgets.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import { utf8Length } from '../../../src/core/domain/text.ts';

test('all permanent state of a run fits into one payload, and leaves room for the window', () => {
  const { snapshot, startInput, deps, state, queue } = BYTE_BUDGETS;
  expect(MAX_PAYLOAD_BYTES - (snapshot + startInput + deps + state + queue)).toBeGreaterThanOrEqual(600_000);
});

test('the largest event fits into a page of an answer, with state and final result', () => {
  expect(BYTE_BUDGETS.modelResponse + BYTE_BUDGETS.state + BYTE_BUDGETS.modelText).toBeLessThan(MAX_PAYLOAD_BYTES);
});

test('200 calls with 5 kB of arguments fit one response', () => {
  const call = { type: 'tool_call', toolCallId: 'x'.repeat(36), name: 'x'.repeat(30), arguments: '' };
  expect(200 * (JSON.stringify(call).length + 5_000)).toBeLessThan(BYTE_BUDGETS.modelResponse);
});

test.each(Object.entries({ ...BYTE_BUDGETS, messages: MAX_QUEUED_MESSAGES }))('the page about sizes has the value of %s', (_, budget) => {
  const page = readFileSync(new URL('../../../docs/sizes.md', import.meta.url), 'utf8');
  const rows = page.split('\n').filter((line) => line.startsWith('|'));
  expect(rows.join('\n')).toMatch(new RegExp(`(?<![\\d,])${budget.toLocaleString('en-US')}(?![\\d,])`));
});

const cut = (content: JsonValue[], maxBytes: number): JsonValue[] => cutContent(content, maxBytes, cutMarker).content;

/** The two numbers of the marker, and the text before it in the first block. */
function markerOf(content: JsonValue[]): { missing: number; total: number; before: string } {
  const found = /^(?<before>.*?)\n?\[Cut: (?<missing>\d+) of (?<total>\d+) bytes of this result are missing\. [^\]]*\]$/su.exec(
    z.string().parse(content[0]),
  );
  return {
    missing: Number(found?.groups?.['missing']),
    total: Number(found?.groups?.['total']),
    before: found?.groups?.['before'] ?? '',
  };
}

describe('content that is over its budget is cut', () => {
  test.each([
    ['one byte below the budget', 997],
    ['at the budget', 998],
  ])('%s it is unchanged', (_, length) => {
    const content = ['a'.repeat(length)];
    expect(cutContent(content, 1_002, cutMarker)).toEqual({ content, missingBytes: 0 });
  });

  test('one byte over the budget it is cut', () => {
    const { content, missingBytes } = cutContent(['a'.repeat(999)], 1_002, cutMarker);
    expect(jsonBytes(content)).toBeLessThanOrEqual(1_002);
    expect(jsonBytes(content)).toBeGreaterThan(990);
    expect(content).toEqual([`${'a'.repeat(999 - missingBytes)}\n${cutMarker(missingBytes, 999)}`]);
  });

  test('never inside a character', () => {
    for (let maxBytes = 300; maxBytes < 310; maxBytes += 1) {
      const { before, missing, total } = markerOf(cut(['😀é'.repeat(200)], maxBytes));
      expect(before).toMatch(/^(?:😀é)*😀?$/u);
      expect(utf8Length(before) + missing).toBe(total);
    }
  });

  test('a value that is not text is cut as JSON text', () => {
    const value = { list: Array.from({ length: 100 }, (_, index) => index) };
    const { before } = markerOf(cut([value], 250));
    expect(before).not.toBe('');
    expect(JSON.stringify(value).startsWith(before)).toBe(true);
  });

  test('blocks that fit are unchanged, those after the cut are removed, and the marker is in the first block, which a model reads', () => {
    const content = ['text', { a: 1 }, 'x'.repeat(500), 'last'];
    const [first, second, third, ...others] = cut(content, 300);
    const { missing, total, before } = markerOf([first ?? '']);
    expect([before, second, others]).toEqual(['text', { a: 1 }, []]);
    expect(third).toMatch(/^x+$/u);
    expect(total).toBe(4 + 7 + 500 + 4);
    expect(missing).toBe(500 - z.string().parse(third).length + 4);
  });

  test('the marker comes before media, which a model is shown with the first block', () => {
    const image = { type: 'image', url: 'https://example.com/a.png' };
    expect(cut([image, { type: 'image', data: 'a'.repeat(1_000) }], 500)).toEqual([expect.stringContaining('[Cut: 1026 of'), image]);
  });

  test('a first value that is not text becomes text if a later value is removed', () => {
    expect(cut([{ a: 1 }, { type: 'image', data: 'a'.repeat(1_000) }], 500)).toEqual([
      '{"a":1}\n[Cut: 1026 of 1033 bytes of this result are missing. Ask for less, or for a part.]',
    ]);
  });

  test('media are removed as a whole, because a part of an image is not an image', () => {
    expect(cut(['see', { type: 'image', data: 'a'.repeat(1_000) }], 500)).toEqual([
      'see\n[Cut: 1026 of 1029 bytes of this result are missing. Ask for less, or for a part.]',
    ]);
  });
});

/** Bytes for the marker. */
const LEAST = 200;

test('for any content, the result is well-formed, fits the budget, and its marker has the exact number of missing bytes', () => {
  const text = fc.string({
    unit: fc.oneof(fc.constantFrom('"', '\\', '\n', '\u0001', 'é', '€', '😀', '\u2028'), fc.string({ minLength: 1, maxLength: 1 })),
    maxLength: 400,
  });
  const content = fc.array(
    fc.oneof(text, fc.jsonValue() as fc.Arbitrary<JsonValue>, fc.record({ type: fc.constant('image'), data: text })),
    {
      maxLength: 5,
    },
  );
  fc.assert(
    fc.property(content, fc.double({ min: 0, max: 1, noNaN: true }), (unclean, part) => {
      const given = JSON.parse(JSON.stringify(unclean).toWellFormed()) as JsonValue[];
      const bytes = jsonBytes(given);
      fc.pre(bytes > LEAST);
      const maxBytes = LEAST + Math.floor(part * (bytes - 1 - LEAST));
      const { content: result, missingBytes } = cutContent(given, maxBytes, cutMarker);
      expect(jsonBytes(result)).toBeLessThanOrEqual(maxBytes);
      const { missing, total, before } = markerOf(result);
      const texts = given.map((block) => (typeof block === 'string' ? block : JSON.stringify(block)));
      expect(missing).toBe(missingBytes);
      expect(total).toBe(utf8Length(texts.join('')));
      // The remaining text is a prefix of the original, and the missing bytes complete it.
      const others = result.slice(1).map((block) => (typeof block === 'string' ? block : JSON.stringify(block)));
      const left = [before, ...others].join('');
      expect(left.isWellFormed()).toBe(true);
      expect(texts.join('').startsWith(left)).toBe(true);
      expect(utf8Length(left) + missing).toBe(total);
    }),
    { numRuns: 500 },
  );
});
