import { expect, test } from 'vitest';
import { Finalizer, MultipleFinalAnswers } from '../../../../src/core/domain/code.ts';
import { UsageError } from '../../../../src/core/domain/errors.ts';

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
