import { type Duration, milliseconds } from '../../core/domain/run/duration.ts';

/** The first of these to settle. Rejects once the time of a test is over: nothing in it may go on for ever. */
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
