import { type Authenticate, type Caller, SCOPES } from './caller.ts';
import { forbidden } from './access/access-error.ts';
import { isLoopback, refuseForeignPages } from './loopback.ts';
import { bearsRunToken } from './run-tokens/bears-run-token.ts';

/** The caller of a service that asks for no credentials. */
const OPERATOR: Caller = { id: 'operator', scopes: SCOPES };

/** The headers by which proxies tell whom they act for. */
const OF_PROXIES = ['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Forwarded-Proto', 'X-Real-IP', 'Via'];

/**
 * Returns the verification of a service without authentication: every request is that of the operator, but for one with a run token, which
 * stands for its own caller, or for none if it is wrong or has expired.
 */
export function openAuthentication(tokens: Authenticate | undefined): Authenticate {
  return async (request) => (bearsRunToken(request) ? tokens?.(request) : OPERATOR);
}

/** The circumstances of a request to a service without authentication. */
export interface OpenRequest {
  /** The address that the request comes from. Undefined: the runtime does not tell. */
  peer: string | undefined;
  /** The origins of pages that may call. */
  origins: readonly string[];
}

/**
 * Throws `forbidden` for a request that another machine may have made to a service without authentication: by its address, by the headers
 * of a proxy, behind which every caller has an address of this machine, or by a page (`refuseForeignPages`).
 */
export function refuseOthers(request: Request, { peer, origins }: OpenRequest): void {
  if (peer !== undefined && !isLoopback(peer.replace(/^::ffff:(?=\d)/i, ''))) {
    throw forbidden(`The server has no authentication, so it answers requests of this machine alone, and not those of "${peer}"`);
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
