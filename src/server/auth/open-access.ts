import { isIPv4 } from 'node:net';
import { UsageError } from '../../core/domain/errors.ts';
import { type Authenticate, type Caller, forbidden, SCOPES } from './caller.ts';
import { bearsRunToken } from './run-tokens.ts';

/** The caller of every request to a service without authentication. */
const OPERATOR: Caller = { id: 'operator', principal: 'all', scopes: SCOPES };

/** The headers in which proxies name the original client. */
const OF_PROXIES = ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Real-IP', 'Via'];

/**
 * Returns the authenticator of a service without authentication: every request comes from the operator, except that a run token
 * identifies its own caller, or none if it is wrong or has expired.
 */
export function openAuthentication(tokens: Authenticate | undefined): Authenticate {
  return async (request) => (bearsRunToken(request) ? tokens?.(request) : OPERATOR);
}

/** The circumstances of a request to a service without authentication. */
interface OpenRequest {
  /** The address that the request comes from. Undefined if the runtime does not provide it. */
  peer: string | undefined;
  /** The origins of pages that may call. */
  origins: readonly string[];
}

/**
 * Throws `forbidden` for a request that another machine may have made to a service without authentication: judged by its address, by the
 * headers of a proxy, behind which every caller has a local address, and by the origin of a page (`refuseForeignPages`).
 */
export function refuseOthers(request: Request, { peer, origins }: OpenRequest): void {
  if (peer !== undefined && !isLoopback(peer.replace(/^::ffff:(?=\d)/i, ''))) {
    throw forbidden(`The server has no authentication, so it only answers requests from this machine, not from "${peer}"`);
  }
  const header = OF_PROXIES.find((name) => request.headers.has(name));
  if (header !== undefined) {
    throw forbidden(
      `The request came through a proxy ("${header}"), behind which every caller looks like one of this machine, and the server has no ` +
        'authentication: give it keys or "authenticate"',
    );
  }
  refuseForeignPages(request, origins);
}

const LOOPBACK_V6 = new Set(['::1', '[::1]', '0:0:0:0:0:0:0:1']);

/** True for a loopback host: 127.0.0.0/8, ::1 and `localhost`. */
export function isLoopback(host: string): boolean {
  return host.toLowerCase() === 'localhost' || LOOPBACK_V6.has(host) || (isIPv4(host) && host.startsWith('127.'));
}

/** Throws a UsageError if a server without authentication must not listen on this host. */
export function requireLoopback(host: string): void {
  if (isLoopback(host)) return;
  throw new UsageError(
    `A server at "${host}" without authentication would let everyone who reaches it start, read and approve runs: ` +
      'create an API key with "npx longhaul keys create", give "authenticate", or listen on 127.0.0.1',
  );
}

/**
 * Throws `forbidden` for a request that another site's page may have made to a server without authentication. A developer's browser
 * can reach 127.0.0.1: a page whose name resolves to that address has its own name in `Host` (DNS rebinding), and a page that
 * sends a form or a request without a body has its origin in `Origin`. `origins` are the allowed origins.
 */
export function refuseForeignPages(request: Request, origins: readonly string[]): void {
  const host = request.headers.get('host') ?? new URL(request.url).host;
  if (!isLoopback(URL.parse(`http://${host}`)?.hostname ?? '')) {
    throw forbidden(`The server has no authentication, so it only answers requests for localhost, not for "${host}"`);
  }
  const origin = request.headers.get('origin');
  if (origin === null || origins.includes(origin) || URL.parse(origin)?.host === host.toLowerCase()) return;
  throw forbidden(`The server has no authentication, and pages of "${origin}" may not call it: list the origin`);
}
