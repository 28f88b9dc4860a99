import { createContext, runInContext } from 'node:vm';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  codeLiteral,
  EMPTY_SCRATCHPAD,
  executionLimits,
  Finalizer,
  MultipleFinalAnswers,
  scratchpadContext,
  storedValue,
  withFailedApproach,
  withObservation,
  withStoredValue,
} from '../../../src/core/domain/code.ts';
import { UsageError } from '../../../src/core/domain/errors.ts';

test('values are written as the language writes them', () => {
  const value = [1, -2.5, 'two', true, false, null, { three: [], 'fo ur': {} }];
  expect(codeLiteral(value, 'python')).toBe("[1, -2.5, 'two', True, False, None, {'three': [], 'fo ur': {}}]");
  expect(codeLiteral(value, 'javascript')).toBe("[1, -2.5, 'two', true, false, null, {'three': [], 'fo ur': {}}]");
});

test('a text with single quotes alone is put in double quotes', () => {
  expect(codeLiteral("it's", 'python')).toBe(`"it's"`);
  expect(codeLiteral(`"it's"`, 'python')).toBe(`'"it\\'s"'`);
  expect(codeLiteral('"', 'python')).toBe(`'"'`);
});

test('characters that a reader could not see are escaped', () => {
  expect(codeLiteral('a\n\t\\\u0000\u00a0\u200b😀é', 'python')).toBe(String.raw`'a\n\t\\\x00\xa0\u200b😀é'`);
  expect(codeLiteral('\u{e0001}', 'python')).toBe(String.raw`'\U000e0001'`);
  expect(codeLiteral('\u{e0001}', 'javascript')).toBe(String.raw`'\u{e0001}'`);
});

test('a text in JavaScript evaluates to itself', () => {
  const context = createContext({});
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      expect(runInContext(codeLiteral(text, 'javascript'), context)).toBe(text);
    }),
  );
});

test('a value is recalled by its name, and null is a value', () => {
  const scratchpad = withStoredValue(withStoredValue(EMPTY_SCRATCHPAD, 'k', 41), 'none', null);
  expect(storedValue(scratchpad, 'k')).toBe(41);
  expect(storedValue(scratchpad, 'none', 7)).toBeNull();
});

test('a name without a value gives null, or the value for this case', () => {
  expect(storedValue(EMPTY_SCRATCHPAD, 'k')).toBeNull();
  expect(storedValue(EMPTY_SCRATCHPAD, 'k', 7)).toBe(7);
  expect(storedValue(EMPTY_SCRATCHPAD, 'toString', 7)).toBe(7);
});

test('a value that is stored again replaces the previous one, in its place', () => {
  const scratchpad = withStoredValue(withStoredValue(withStoredValue(EMPTY_SCRATCHPAD, 'a', 1), 'b', 2), 'a', 3);
  expect(Object.entries(scratchpad.values)).toEqual([
    ['a', 3],
    ['b', 2],
  ]);
});

test('a name like __proto__ is a name', () => {
  expect(storedValue(withStoredValue(EMPTY_SCRATCHPAD, '__proto__', 1), '__proto__')).toBe(1);
});

test('an empty working memory has no text', () => {
  expect(scratchpadContext(EMPTY_SCRATCHPAD, 'javascript')).toBe('');
});

test('each section that has entries is shown, in this order', () => {
  const scratchpad = withFailedApproach(withObservation(withStoredValue(EMPTY_SCRATCHPAD, 'k', 41), 'saw it'), 'Step 1: boom');
  expect(scratchpadContext(scratchpad, 'javascript')).toBe(
    '## Working Memory\n\n### Stored Values\n- k: 41\n\n### Observations\n- saw it\n\n### Failed Approaches (avoid these)\n- Step 1: boom',
  );
});

test('a section without entries is left out', () => {
  expect(scratchpadContext(withFailedApproach(EMPTY_SCRATCHPAD, 'x'), 'javascript')).toBe(
    '## Working Memory\n\n### Failed Approaches (avoid these)\n- x',
  );
});

test('a value is cut at 100 characters, and observations are whole', () => {
  const scratchpad = withObservation(withStoredValue(EMPTY_SCRATCHPAD, 'k', 'x'.repeat(200)), 'o'.repeat(200));
  expect(scratchpadContext(scratchpad, 'javascript')).toBe(
    `## Working Memory\n\n### Stored Values\n- k: '${'x'.repeat(99)}...\n\n### Observations\n- ${'o'.repeat(200)}`,
  );
});

test('a value of exactly 100 characters is whole', () => {
  expect(scratchpadContext(withStoredValue(EMPTY_SCRATCHPAD, 'k', 'x'.repeat(98)), 'javascript')).toContain(`- k: '${'x'.repeat(98)}'`);
});

test('an answer has its source, time and metadata', () => {
  const finalizer = new Finalizer();
  expect(finalizer.get()).toBeUndefined();
  finalizer.set('a', { now: 5 });
  expect(finalizer.get()).toEqual({ value: 'a', source: 'normal', timestamp: 5, metadata: {} });
  expect(new Finalizer().set('b', { now: 6, source: 'final_attempt', metadata: { step: 5 } })).toEqual({
    value: 'b',
    source: 'final_attempt',
    timestamp: 6,
    metadata: { step: 5 },
  });
});

test('a second answer is refused with both, and the first one stays', () => {
  const finalizer = new Finalizer();
  finalizer.set('first', { now: 1 });
  const attempt = (): unknown => finalizer.set({ second: true }, { now: 2 });
  expect(attempt).toThrow(UsageError);
  expect(attempt).toThrow(new MultipleFinalAnswers('first', { second: true }));
  expect(new MultipleFinalAnswers('first', 2)).toMatchObject({ first: 'first', attempted: 2 });
  expect(finalizer.get()?.value).toBe('first');
});

test('null is an answer', () => {
  const finalizer = new Finalizer();
  finalizer.set(null, { now: 1 });
  expect(finalizer.isSet()).toBe(true);
  expect(() => finalizer.set(null, { now: 1 })).toThrow(MultipleFinalAnswers);
});

test('an answer can be set again after a reset', () => {
  const finalizer = new Finalizer({ value: 1, source: 'normal', timestamp: 1, metadata: {} });
  expect(finalizer.isSet()).toBe(true);
  finalizer.reset();
  expect(finalizer.isSet()).toBe(false);
  expect(finalizer.set(2, { now: 2 }).value).toBe(2);
});

test('limits that are not given have defaults', () => {
  expect(executionLimits()).toEqual({ timeoutSeconds: 30, maxMemoryMb: 256, maxOutputBytes: 10_000, maxSteps: 10 });
  expect(executionLimits({ maxSteps: 3, timeoutSeconds: -1 })).toMatchObject({ maxSteps: 3, timeoutSeconds: -1, maxMemoryMb: 256 });
});

test.each([{ timeoutSeconds: NaN }, { maxMemoryMb: 0 }, { maxOutputBytes: 1.5 }, { maxSteps: -1 }])('%j is refused', (limits) => {
  const [name = ''] = Object.keys(limits);
  expect(() => executionLimits(limits)).toThrow(`The limit "${name}" of the executor is`);
});
