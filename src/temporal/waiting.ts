import { type Duration, timerMilliseconds } from '../core/domain/time.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import { type Missing, missingText } from '../core/domain/missing-definitions.ts';

/** Limits of a wait. Neither affects the run, which continues. */
export interface WaitOptions {
  /** The time limit of the wait. Default: none. */
  timeout?: Duration;
  signal?: AbortSignal;
}

/** Returns one signal for the caller's own signal and the time limit; undefined if there is neither. */
export function waitSignal({ timeout, signal }: WaitOptions): AbortSignal | undefined {
  const timeUp = timeout === undefined ? undefined : AbortSignal.timeout(timerMilliseconds(timeout, 'result: "timeout"'));
  const signals = [signal, timeUp].filter((one) => one !== undefined);
  return signals.length === 0 ? undefined : AbortSignal.any(signals);
}

/**
 * Returns the error for a wait that ended early: the reason of the caller's signal, or `wait_timeout` with what no
 * worker has provided so far.
 */
export function waitEnded(runId: string, { timeout, signal }: WaitOptions, missing: readonly Missing[] = []): unknown {
  if (signal?.aborted) return signal.reason;
  const why = missing.map((one) => ` ${missingText(one)}`).join('');
  return new LonghaulError(
    'wait_timeout',
    `Run "${runId}" has not ended within ${timeoutText(timeout)}. It goes on: wait again, or cancel it.${why}`,
  );
}

function timeoutText(timeout: Duration | undefined): string {
  return typeof timeout === 'number' ? `${timeout} ms` : String(timeout);
}

/** Waits for so many milliseconds, or rejects with the reason of the signal. */
export async function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  signal?.throwIfAborted();
  await new Promise<void>((resolve, reject) => {
    const abort = (): void => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener('abort', abort);
      resolve();
    }, ms);
    signal?.addEventListener('abort', abort, { once: true });
  });
}

/** Returns a random number of milliseconds from half to one and a half times as many. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random());
}
