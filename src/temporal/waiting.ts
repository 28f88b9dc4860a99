import { type Duration, timerMilliseconds } from '../core/domain/run/duration.ts';
import { LonghaulError } from '../core/domain/errors/error.ts';
import { type Missing, missingText } from '../core/domain/errors/missing.ts';

/** Bounds of everything that waits. Neither touches the run: it goes on. */
export interface WaitOptions {
  /** Default: for as long as it takes. */
  timeout?: Duration;
  signal?: AbortSignal;
}

/** One signal for the caller's own and the time limit; undefined where there is neither. */
export function waitSignal({ timeout, signal }: WaitOptions): AbortSignal | undefined {
  const timeUp = timeout === undefined ? undefined : AbortSignal.timeout(timerMilliseconds(timeout, 'result: "timeout"'));
  const signals = [signal, timeUp].filter((one) => one !== undefined);
  return signals.length === 0 ? undefined : AbortSignal.any(signals);
}

/** The error for a wait that ended before what it waited for: the caller's own reason, or `wait_timeout` with what no worker has had so far. */
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

/** Waits, or rejects with the reason of the signal. */
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

/** About so many milliseconds: half as many to one and a half times as many. */
export function jitter(ms: number): number {
  return ms * (0.5 + Math.random());
}
