import { expect, test } from 'vitest';
import { isFullFor } from '../../../src/history/recorded-execution.ts';

const WAITING = { events: 4, bytes: 1_000 };
const ACTIVITY = { events: 6, bytes: 3_000 };
const THRESHOLDS = { events: 90, bytes: 50_000, updates: 100 };

test('a history that was too full for an activity alone was not full for a run that only waits', () => {
  const size = { events: 86, bytes: 20_000, isSuggested: false };
  expect(isFullFor(ACTIVITY, size, THRESHOLDS)).toBe(true);
  expect(isFullFor(WAITING, size, THRESHOLDS)).toBe(false);
  expect(isFullFor(WAITING, { events: 20, bytes: 48_000, isSuggested: false }, THRESHOLDS)).toBe(false);
  expect(isFullFor(WAITING, { events: 20, bytes: 49_500, isSuggested: false }, THRESHOLDS)).toBe(true);
});

test('a run that has continued for another reason than the size of its history was full for everything, and so was one whose size is unknown', () => {
  expect(isFullFor(WAITING, { events: 10, bytes: 100, isSuggested: false }, THRESHOLDS)).toBe(true);
  expect(isFullFor(WAITING, undefined, THRESHOLDS)).toBe(true);
  expect(isFullFor(WAITING, { events: 3_595, bytes: 100, isSuggested: false }, undefined)).toBe(false);
});
