import { isSame } from '../../core/domain/run/principal.ts';
import { wrongCredentials } from './access/access-error.ts';
import { hasScope } from './access/scopes.ts';
import type { Authenticate, Caller, Scope } from './caller.ts';
import { untilExpiry } from './until-expiry.ts';

/** The time after which the credentials of a stream are verified again. */
const AGAIN_MS = 30_000;

/** A stream that is open. */
export interface OpenStream {
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
    return now !== undefined && now.id === before.id && isSame(now.principal ?? {}, before.principal ?? {}) && hasScope(now, scope);
  } catch {
    return true;
  }
}
