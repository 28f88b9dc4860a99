import { expect, test } from 'vitest';
import { activityStep } from '../../../src/core/domain/activity-messages.ts';

test('the step of a tool call is read from its input, the step of a model call from its summary', () => {
  expect(activityStep('search: a', { callId: 'c1', step: 7 })).toBe(7);
  expect(activityStep('step 12 (final) · m · 1 message new', { agent: 'x' })).toBe(12);
});

test('without a step in them, the result is undefined', () => {
  expect(activityStep('clerk', { agent: 'clerk' })).toBeUndefined();
  expect(activityStep('stepping stones', { step: 3 })).toBeUndefined();
  expect(activityStep(undefined, null)).toBeUndefined();
});
