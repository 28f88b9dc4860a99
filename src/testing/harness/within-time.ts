import { type Duration, milliseconds } from '../../core/domain/time.ts';

/**
 * Returns the first of these to settle. Rejects when the time limit of the test has passed, so that no test runs
 * forever.
 */
export async function withinTime<Result>(timeout: Duration, settling: readonly Promise<Result>[]): Promise<Result> {
  const ms = milliseconds(timeout, 'the test: "timeout"');
  const timeUp = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    timeUp.reject(new Error(`The run has not ended within ${ms / 1000} s: something in it hangs, or "timeout" is too short`));
  }, ms);
  try {
    return await Promise.race([...settling, timeUp.promise]);
  } finally {
    clearTimeout(timer);
  }
}
