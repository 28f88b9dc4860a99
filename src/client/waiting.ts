import { LonghaulError } from '../domain/error.ts';
import { type Missing, missingText } from '../domain/missing.ts';

/** Bounds of everything that waits. Neither touches the run: it goes on. */
export interface WaitOptions {
  /** Milliseconds. */
  timeoutMs?: number;
  signal?: AbortSignal;
}

/** One signal for the caller's own and the time limit; undefined where there is neither. */
export function waitSignal({ timeoutMs, signal }: WaitOptions): AbortSignal | undefined {
  const signals = [signal, timeoutMs === undefined ? undefined : AbortSignal.timeout(timeoutMs)].filter((one) => one !== undefined);
  return signals.length === 0 ? undefined : AbortSignal.any(signals);
}

/** The error for a wait that ended before what it waited for: the caller's own reason, or `wait_timeout` with what no worker has had so far. */
export function waitEnded(runId: string, { timeoutMs, signal }: WaitOptions, missing: readonly Missing[] = []): unknown {
  if (signal?.aborted) return signal.reason;
  const why = missing.map((one) => ` ${missingText(one)}`).join('');
  return new LonghaulError(
    'wait_timeout',
    `Run "${runId}" has not ended within ${timeoutMs} ms. It goes on: wait again, or cancel it.${why}`,
  );
}

/** Waits, or rejects with the reason of the signal. */
export async function pause(ms: number, signal?: AbortSignal): Promise<void> {
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
export function spread(ms: number): number {
  return ms * (0.5 + Math.random());
}
