import type { Scope } from '../auth/caller.ts';
import { untilRefused } from '../auth/until-refused.ts';
import { takePlace } from '../limits/caller-limits.ts';
import type { RouteRequest } from '../routing/route.ts';

/** A stream that a caller may read. */
export interface OpenStream {
  /** Aborted when the stream has to be cut: the caller has gone, its credentials are over, or the service ends. */
  signal: AbortSignal;
  /** To be called once the stream is over. */
  closed: () => void;
}

/**
 * Opens a stream for the caller of a request. `scope` is the right by which its route lets it read. Throws `too_many_requests` if the caller
 * has as many as it may.
 */
export function openStream(
  { caller, raw, signal, settings }: Pick<RouteRequest<unknown, unknown, unknown>, 'caller' | 'raw' | 'signal' | 'settings'>,
  scope: Scope = 'runs:read',
): OpenStream {
  const { limits, authenticate } = settings;
  const giveBack = takePlace(limits, caller);
  const ended = new AbortController();
  return {
    signal: untilRefused({ request: raw, authenticate, caller, signal: AbortSignal.any([signal, ended.signal]), scope }),
    closed: () => {
      ended.abort();
      giveBack();
    },
  };
}
