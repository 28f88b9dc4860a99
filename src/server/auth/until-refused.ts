import { MAX_TIMER_MS } from '../../core/domain/time.ts';
import { isSameIdentity } from '../../core/domain/run.ts';
import { wrongCredentials } from './access/access-error.ts';
import { hasScope } from './access/scopes.ts';
import type { Authenticate, Caller, Scope } from './caller.ts';

/** The time after which the credentials of a stream are verified again. */
const AGAIN_MS = 30_000;

/** A stream that is open. */
interface OpenStream {
  request: Request;
  authenticate: Authenticate;
  /** The caller that the request had when the stream was opened. */
  caller: Caller;
  /** Aborted when the reader has gone, or the stream ends. */
  signal: AbortSignal;
  /** The right that the caller needs. Default `runs:read`. */
  scope?: Scope;
}

/**
 * Returns a signal that is aborted with `signal`, and with an `unauthenticated` error when the credentials of the stream expire, or are not
 * accepted any more: they are verified again every 30 seconds, so that a revoked key reads no further. A verification that fails is no
 * refusal. The timers go on until `signal` is aborted: abort it when the stream ends. They do not keep the process alive.
 */
export function untilRefused({ request, authenticate, caller, signal, scope = 'runs:read' }: OpenStream): AbortSignal {
  const refusal = new AbortController();
  const ended = AbortSignal.any([untilExpiry(caller, signal), refusal.signal]);
  if (ended.aborted) return ended;
  let timer: NodeJS.Timeout;
  const wait = (): void => void (timer = setTimeout(() => void verify(), AGAIN_MS).unref());
  const verify = async (): Promise<void> => {
    if (!(await isStillAccepted(request, authenticate, caller, scope))) refusal.abort(wrongCredentials());
    else if (!ended.aborted) wait();
  };
  wait();
  ended.addEventListener('abort', () => clearTimeout(timer), { once: true });
  return ended;
}

async function isStillAccepted(request: Request, authenticate: Authenticate, before: Caller, scope: Scope): Promise<boolean> {
  try {
    const now = await authenticate(request);
    return now !== undefined && now.id === before.id && isSameIdentity(now.principal ?? {}, before.principal ?? {}) && hasScope(now, scope);
  } catch {
    return true;
  }
}

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
