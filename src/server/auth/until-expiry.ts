import { MAX_TIMER_MS } from '../../core/domain/run/duration.ts';
import { wrongCredentials } from './access/access-error.ts';
import type { Caller } from './caller.ts';

/**
 * Returns a signal that is aborted with `signal`, and with an `unauthenticated` error when the credentials of the caller expire. The timer
 * for that goes on until `signal` is aborted: abort it when the stream ends. It does not keep the process alive.
 */
export function untilExpiry({ expiresAt }: Pick<Caller, 'expiresAt'>, signal: AbortSignal): AbortSignal {
  if (expiresAt === undefined || signal.aborted) return signal;
  const expiry = new AbortController();
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    const left = expiresAt - Date.now();
    // A longer timer would fire at once, and a time that is no number counts as over.
    if (left > 0) timer = setTimeout(wait, Math.min(left, MAX_TIMER_MS)).unref();
    else end(wrongCredentials());
  };
  const end = (reason: unknown): void => {
    clearTimeout(timer);
    signal.removeEventListener('abort', forward);
    expiry.abort(reason);
  };
  const forward = (): void => end(signal.reason);
  signal.addEventListener('abort', forward);
  wait();
  return expiry.signal;
}
