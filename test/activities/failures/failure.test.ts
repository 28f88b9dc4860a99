import { ApplicationFailure, ApplicationFailureCategory, CancelledFailure, TimeoutFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { toFailure } from '../../../activities/attempts/failure.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { Duration } from '@temporalio/common';

const NOT_JSON = '[This detail is not JSON, or nested too deep]';

test('a valid failure is unchanged, causes included', () => {
  const chosen = ApplicationFailure.create({
    type: 'Mine',
    message: 'no room',
    nonRetryable: true,
    details: [{ rooms: 0 }, 'none', null],
    nextRetryDelay: '5 seconds',
    category: ApplicationFailureCategory.BENIGN,
    cause: ApplicationFailure.create({ type: 'Below', message: 'full', details: [1], cause: new Error('sold out') }),
  });
  const failure = toFailure(chosen, 'internal');
  expect(failure).toMatchObject({
    type: 'Mine',
    message: 'no room',
    nonRetryable: true,
    details: [{ rooms: 0 }, 'none', null],
    nextRetryDelay: 5_000,
    category: ApplicationFailureCategory.BENIGN,
    cause: { type: 'Below', message: 'full', details: [1], cause: { message: 'sold out' } },
  });
  expect(failure.stack).toBe(chosen.stack);
});

describe('in a failure that cannot be encoded', () => {
  test('only the details that are not JSON are replaced', () => {
    const cycle: { self?: object } = {};
    cycle.self = cycle;
    const failure = toFailure(ApplicationFailure.create({ type: 'Mine', message: 'm', details: [1, 2n, cycle, undefined] }), 'internal');
    expect(failure).toMatchObject({ type: 'Mine', message: 'm', details: [1, NOT_JSON, NOT_JSON, null] });
  });

  test('details that are too large are replaced as a whole, by their size', () => {
    const failure = toFailure(ApplicationFailure.create({ type: 'Mine', message: 'm', details: ['x'.repeat(70_000)] }), 'internal');
    expect(failure).toMatchObject({ type: 'Mine', details: ['[The details of this failure are 70004 bytes of JSON, over 64000]'] });
  });

  test('a cycle and a long chain of causes are cut', () => {
    const own = new Error('own');
    own.cause = new Error('between', { cause: own });
    const cyclic = toFailure(ApplicationFailure.create({ message: 'm', cause: own }), 'internal');
    expect(cyclic.cause).toMatchObject({ message: 'own', cause: { message: 'between' } });
    expect(messages(cyclic)).toEqual(['m', 'own', 'between']);
    let chain = new Error('0');
    for (let depth = 1; depth < 20; depth += 1) chain = new Error(String(depth), { cause: chain });
    const long = toFailure(ApplicationFailure.create({ message: 'm', cause: chain }), 'internal');
    expect(messages(long)).toEqual(['m', '19', '18', '17', '16', '[The causes of this error are left out]']);
  });

  test.each<[wait: unknown, expected: number | undefined]>([
    [NaN, undefined],
    [Infinity, undefined],
    [-1, undefined],
    ['soon', undefined],
    [new Date(), undefined],
    [7n, undefined],
    [1e300, 86_400_000],
    ['2 days', 86_400_000],
    [0.25, 1],
    [0, 0],
  ])('a retry delay of %s becomes %s', (wait, expected) => {
    const failure = toFailure(ApplicationFailure.create({ message: 'm', nextRetryDelay: wait as Duration }), 'internal');
    expect(failure).toHaveProperty('nextRetryDelay', expected);
  });
});

test.each<[wait: number, expected: number | undefined]>([
  [250, 250],
  [0.5, 1],
  [0, undefined],
  [-5, undefined],
  [NaN, undefined],
  [Infinity, undefined],
  [1e300, 86_400_000],
])('if a model client asks to wait %s ms, the next attempt waits %s', (retryAfterMs, expected) => {
  const failure = toFailure(new ModelCallError('model_rate_limited', 'slow down', { retryAfterMs }), 'model_error');
  expect(failure).toMatchObject({ type: 'model_rate_limited', nonRetryable: false });
  expect(failure).toHaveProperty('nextRetryDelay', expected);
});

test.each([
  [
    'a cancellation of Temporal',
    new CancelledFailure('enough', [1n]),
    { name: 'CancelledFailure', message: 'enough', details: [NOT_JSON] },
  ],
  ['an abort', new DOMException('enough', 'AbortError'), { name: 'AbortError', message: 'enough' }],
])('%s stays a cancellation', (_, error, expected) => {
  expect(toFailure(error, 'internal')).toMatchObject(expected);
});

test('failure types that are reserved for Temporal count as any other error', () => {
  expect(toFailure(new TimeoutFailure('late', undefined, 'HEARTBEAT'), 'notification_failed')).toMatchObject({
    type: 'notification_failed',
    message: 'late',
    nonRetryable: false,
  });
});

/** The messages of an error and of its causes. */
function messages(error: unknown): string[] {
  return error instanceof Error ? [error.message, ...messages(error.cause)] : [];
}
