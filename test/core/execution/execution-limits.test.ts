import { expect, test } from 'vitest';
import { executionLimits } from '../../../src/core/domain/code.ts';

test('limits that are not given have defaults', () => {
  expect(executionLimits()).toEqual({ timeoutSeconds: 30, maxMemoryMb: 256, maxOutputBytes: 10_000, maxSteps: 10 });
  expect(executionLimits({ maxSteps: 3, timeoutSeconds: -1 })).toMatchObject({ maxSteps: 3, timeoutSeconds: -1, maxMemoryMb: 256 });
});

test.each([{ timeoutSeconds: NaN }, { maxMemoryMb: 0 }, { maxOutputBytes: 1.5 }, { maxSteps: -1 }])('%j is refused', (limits) => {
  const [name = ''] = Object.keys(limits);
  expect(() => executionLimits(limits)).toThrow(`The limit "${name}" of the executor is`);
});
