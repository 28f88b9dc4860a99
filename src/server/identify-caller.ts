import type { MiddlewareHandler } from 'hono';
import { LRUCache } from 'lru-cache';
import { errorCode, errorMessage, LonghaulError } from '../core/domain/errors/error.ts';
import type { LonghaulClient } from '../client/longhaul-client.ts';
import type { Principal } from '../core/domain/run/principal.ts';
import { type Authenticate, type Caller, SCOPES } from './auth/caller.ts';
import { RequestError } from './problems/request-error.ts';
import type { ServerEnv } from './server-env.ts';

/** The caller of a service that asks for no credentials. */
const OPERATOR: Caller = { id: 'operator', scopes: SCOPES };

/** The clients of principals that are kept: each remembers the runs that its principal reaches. */
const MOST_CLIENTS = 1_000;

/** Sets the caller of a request and the client that acts for it. Throws `unauthenticated` for a request that is not verified. */
export function identifyCaller(client: LonghaulClient, authenticate: Authenticate = () => OPERATOR): MiddlewareHandler<ServerEnv> {
  const clientFor = clientsOf(client);
  return async (context, next) => {
    const caller = await verified(authenticate, context.req.raw);
    if (caller === undefined || (caller.expiresAt !== undefined && caller.expiresAt <= Date.now())) {
      const detail = 'The request has no credentials, or wrong or expired ones: send "Authorization: Bearer …"';
      throw new RequestError('unauthenticated', detail, { headers: { 'www-authenticate': 'Bearer' } });
    }
    context.set('caller', caller);
    context.set('client', clientFor(caller.principal));
    await next();
  };
}

/** An error of the verification itself is never one of the caller, unless it is a refusal. */
async function verified(authenticate: Authenticate, request: Request): Promise<Caller | undefined> {
  try {
    return await authenticate(request);
  } catch (error) {
    if (errorCode(error) !== undefined) throw error;
    throw new LonghaulError('internal', `The caller could not be verified: ${errorMessage(error)}`, { cause: error });
  }
}

/** Returns a function that finds the client of a principal. */
function clientsOf(client: LonghaulClient): (principal: Principal | undefined) => LonghaulClient {
  const known = new LRUCache<string, LonghaulClient>({ max: MOST_CLIENTS });
  return (principal) => {
    if (principal === undefined) return client;
    const key = JSON.stringify([principal.tenant ?? null, principal.user ?? null, principal.claims ?? null]);
    const found = known.get(key) ?? clientAs(client, principal);
    known.set(key, found);
    return found;
  };
}

function clientAs(client: LonghaulClient, principal: Principal): LonghaulClient {
  try {
    return client.as(principal);
  } catch (error) {
    throw new LonghaulError('internal', `The principal of the caller is none: ${errorMessage(error)}`, { cause: error });
  }
}
