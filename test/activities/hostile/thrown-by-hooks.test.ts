import { describe, expect, test } from 'vitest';
import { isErrorCode } from '../../../src/core/domain/errors.ts';
import { asReported, type Reported } from './as-reported.ts';
import { ANSWERED, FAILING, type HookRun } from './hooks.ts';
import { THROWN } from './thrown-values.ts';

/** The largest size of a failure and of an answer about it, well below the limit of a server. */
const MOST_BYTES = 250_000;

/** The largest size of a result, such as the answer of a model. */
const MOST_RESULT_BYTES = 1_900_000;

/** The failure types that are allowed besides the code of the activity: types that the user's function chose, and cancellations. */
const CHOSEN = /^(?:Mine|T.*|model_rate_limited|CancelledFailure|AbortError)$/s;

const DAY_MS = 24 * 60 * 60 * 1_000;

/** Runs a hook that does this with each of the values; returns the outcomes, by the value. */
async function eachReported(run: HookRun, act: (make: () => unknown) => () => never): Promise<[what: string, reported: Reported][]> {
  const all: [string, Reported][] = [];
  for (const [what, make] of THROWN) all.push([what, await asReported(run(act(make)))]);
  return all;
}

const throwing = (make: () => unknown) => (): never => {
  throw make();
};

const returning = (make: () => unknown) => (): never => make() as never;

test.each(FAILING)('%s fails its activity with a failure that a worker can report, for any thrown value', async (_hook, code, run) => {
  const reported = await eachReported(run, throwing);
  expect(reported.filter(([, one]) => !isClear(one, code))).toEqual([]);
  expect(reported).toHaveLength(THROWN.length);
});

test.each(ANSWERED)('%s gets a result as its answer, for any thrown value', async (_hook, run) => {
  const reported = await eachReported(run, throwing);
  expect(reported.filter(([, { type, bytes }]) => type !== 'completed' || bytes > MOST_BYTES)).toEqual([]);
  expect(reported).toHaveLength(THROWN.length);
});

describe.each([...FAILING.map(([hook, , run]) => [hook, run] as const), ...ANSWERED])('%s', (_hook, run) => {
  test('may return any value: its worker can report the outcome', async () => {
    const reported = await eachReported(run, returning);
    expect(reported.filter(([, one]) => !isKnown(one))).toEqual([]);
    expect(reported).toHaveLength(THROWN.length);
  });
});

function isClear(reported: Reported, code: string): boolean {
  if (reported.type !== 'failed') return false;
  const { bytes, failureType, message, waitMs = 0 } = reported;
  return bytes <= MOST_BYTES && (failureType === code || CHOSEN.test(failureType)) && message !== '' && waitMs >= 0 && waitMs <= DAY_MS;
}

function isKnown(reported: Reported): boolean {
  if (reported.bytes > MOST_RESULT_BYTES) return false;
  return reported.type === 'completed' || isErrorCode(reported.failureType) || reported.failureType === 'tool_failed';
}
