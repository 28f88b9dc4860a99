import fc from 'fast-check';
import { expect, test } from 'vitest';
import { utf8Length } from '../../../src/core/domain/text.ts';
import { failed, newExecutionResult, succeeded } from '../../../src/core/domain/execution.ts';
import { truncateOutput } from '../../../src/core/domain/code.ts';

const figures = { output: '', durationMs: 1, memoryUsedBytes: 2 };

test('a run without a final answer succeeds and is not final', () => {
  expect(succeeded({ ...figures, output: '\n 7 \n', namespace: {} }, 100)).toEqual({
    output: '7',
    isFinal: false,
    finalValue: null,
    error: null,
    timeout: false,
    durationMs: 1,
    memoryUsedBytes: 2,
    namespace: {},
    success: true,
    emptiedBy: null,
  });
});

test('null is a final answer', () => {
  const result = succeeded({ ...figures, finalAnswer: { value: null }, namespace: {} }, 100);
  expect(result).toMatchObject({ isFinal: true, finalValue: null });
});

test('a failed run keeps its output up to the limit, and has no answer and no namespace', () => {
  const output = 'x'.repeat(50);
  const result = failed({ ...figures, output }, { kind: 'runtime', message: 'Error: no' }, 10);
  expect(result).toMatchObject({
    output: 'xxxxxxxxxx\n[OUTPUT TRUNCATED]',
    isFinal: false,
    finalValue: null,
    timeout: false,
    namespace: {},
    success: false,
  });
  expect(failed(figures, { kind: 'timeout', message: 'late' }).timeout).toBe(true);
});

test.each([
  ['abcdef', 3, 'abc\n[OUTPUT TRUNCATED]'],
  ['abc', 3, 'abc'],
  ['ééé', 4, 'éé\n[OUTPUT TRUNCATED]'],
  ['ééé', 5, 'éé\n[OUTPUT TRUNCATED]'],
  ['a😀', 4, 'a\n[OUTPUT TRUNCATED]'],
  ['', 1, ''],
])('"%s" in %d bytes is "%s"', (text, bytes, cut) => {
  expect(truncateOutput(text, bytes)).toEqual({ text: cut, truncated: cut !== text });
});

test('a cut output is a prefix within its bytes, and ends between two characters', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 40 }), (text, bytes) => {
      const cut = truncateOutput(text, bytes);
      const kept = cut.truncated ? cut.text.slice(0, -'\n[OUTPUT TRUNCATED]'.length) : cut.text;
      expect(text.startsWith(kept)).toBe(true);
      expect(utf8Length(kept)).toBeLessThanOrEqual(bytes);
      expect(kept.isWellFormed()).toBe(true);
    }),
  );
});

test('a result without fields is that of a run that did nothing', () => {
  expect(newExecutionResult()).toEqual(succeeded({ output: '', durationMs: 0, memoryUsedBytes: 0, namespace: {} }, 1));
});

test('a result is a success without an error and without a time-out', () => {
  expect(newExecutionResult({ error: { kind: 'runtime', message: 'no' } }).success).toBe(false);
  expect(newExecutionResult({ timeout: true }).success).toBe(false);
  expect(newExecutionResult({ error: null, timeout: false }).success).toBe(true);
});
