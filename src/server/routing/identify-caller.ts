import type { MiddlewareHandler } from 'hono';
import { LRUCache } from 'lru-cache';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { Principal } from '../../core/domain/run/principal.ts';
import { forbidden } from '../auth/access/access-error.ts';
import { refuseOthers } from '../auth/open-access.ts';
import { requireCaller } from '../auth/require-caller.ts';
import { requireAdmission } from '../limits/admission.ts';
import type { ServerSettings } from '../server-settings.ts';
import type { ServerEnv } from '../server-env.ts';

/** The clients of principals that are kept: each remembers the runs that its principal reaches. */
const MOST_CLIENTS = 1_000;

/**
 * Sets the caller of a request and the client that acts for it, and counts the request. Throws `unauthenticated` for a request that is not
 * verified, `forbidden` for one of another machine to a service without authentication, and `too_many_requests`.
 */
export function identifyCaller(client: LonghaulClient, { authenticate, openTo, limits }: ServerSettings): MiddlewareHandler<ServerEnv> {
  const clientFor = clientsOf(client);
  return async (context, next) => {
    if (openTo !== undefined) refuseOthers(context.req.raw, { ...openTo, peer: context.env.peer });
    const caller = await requireCaller(context.req.raw, authenticate);
    if (limits !== undefined) requireAdmission(limits.request(caller));
    context.set('caller', caller);
    context.set('client', clientFor(caller.principal));
    await next();
  };
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

/** Throws `forbidden` if the service acts for another principal itself (`longhaul serve --tenant`). */
function clientAs(client: LonghaulClient, principal: Principal): LonghaulClient {
  try {
    return client.as(principal);
  } catch {
    throw forbidden('The service acts for another tenant or user than the credentials are for: use other credentials, or another service');
  }
}
