import { errorCode } from '../../../src/core/domain/errors/error.ts';
import { AccessError } from '../../../src/server/auth/access/access-error.ts';
import { requireRun } from '../../../src/server/auth/access/reach.ts';
import { requireScope } from '../../../src/server/auth/access/scopes.ts';
import { anyOf } from '../../../src/server/auth/any-of.ts';
import type { ApiKey } from '../../../src/server/auth/api-keys/api-key.ts';
import type { ApiKeyStore } from '../../../src/server/auth/api-keys/api-key-store.ts';
import { apiKeys } from '../../../src/server/auth/api-keys/api-keys.ts';
import { createApiKey } from '../../../src/server/auth/api-keys/create-api-key.ts';
import { type Caller, type Scope, SCOPES } from '../../../src/server/auth/caller.ts';
import { requireCaller } from '../../../src/server/auth/require-caller.ts';
import { RunTokens } from '../../../src/server/auth/run-tokens/run-tokens.ts';
import type { AccessWorld, GuardedRoute } from './access-matrix.ts';

/** The run of the principal, whose id no answer to another caller may have. */
const OWN_RUN = 'run-of-acme';
const ACME = { tenant: 'acme' };

export const ROUTES: readonly GuardedRoute[] = [
  { method: 'GET', path: '/livez', scope: 'public' },
  { method: 'GET', path: '/v1/runs', scope: 'runs:read' },
  { method: 'GET', path: '/v1/runs/{runId}', scope: 'runs:read' },
  { method: 'POST', path: '/v1/runs/{runId}/approvals/{callId}', scope: 'approvals:decide' },
  { method: 'DELETE', path: '/v1/runs/{runId}', scope: 'admin' },
];

/** The check that a service leaves out. */
export type Mistake = 'caller' | 'scope' | 'run' | 'tenant' | 'list' | 'status' | 'everything';

/** Makes a world of one run, whose service checks access by the functions of the product, with the keys and tokens for each situation. */
export async function guardedRuns(mistake?: Mistake): Promise<AccessWorld> {
  const store = memoryApiKeys();
  const tokens = new RunTokens({ secrets: ['s'.repeat(32)] });
  const authenticate = anyOf(apiKeys(store), tokens.authenticate);
  const create = async (tenant: string, scopes: readonly Scope[] = SCOPES, expiresAt?: number): Promise<{ id: string; text: string }> => {
    const rights = { name: 'test', scopes, principal: { tenant }, ...(expiresAt === undefined ? {} : { expiresAt }) };
    const { key, text } = await createApiKey(store, rights);
    return { id: key.id, text };
  };
  const subsets = [...SCOPES.map((one) => [one]), ...SCOPES.map((one) => SCOPES.filter((other) => other !== one && other !== 'admin'))];
  const rightful = new Map<string, string>();
  for (const scopes of subsets) rightful.set(scopes.join(' '), (await create('acme', scopes)).text);
  const revoked = await create('acme');
  await store.revoke(revoked.id, Date.now());
  const maker: Caller = { id: 'maker', principal: ACME, scopes: SCOPES };
  return {
    fetch: (request) => answered(request, mistake === 'caller' ? () => maker : (one) => requireCaller(one, authenticate), mistake),
    owned: { runId: OWN_RUN },
    others: { callId: 'call-1' },
    requestOf: () => ({}),
    rightful: (scopes) => rightful.get(scopes.join(' ')) ?? '',
    credentials: {
      'wrong credentials': `${revoked.text.slice(0, -1)}${revoked.text.endsWith('A') ? 'B' : 'A'}`,
      expired: (await create('acme', SCOPES, Date.now() - 1)).text,
      revoked: revoked.text,
      'foreign tenant': (await create('umbrella')).text,
      'run token for another run': (await tokens.make(maker, { runId: 'run-2', scopes: ['runs:read', 'approvals:decide'] })).token,
    },
  };
}

function memoryApiKeys(): ApiKeyStore {
  const keys = new Map<string, ApiKey>();
  return {
    get: (id) => Promise.resolve(keys.get(id)),
    list: () => Promise.resolve([...keys.values()]),
    put: (key) => Promise.resolve(void keys.set(key.id, key)),
    revoke: (id, revokedAt) => {
      const key = keys.get(id);
      if (key !== undefined) keys.set(id, { ...key, revokedAt });
      return Promise.resolve(key !== undefined);
    },
  };
}

async function answered(
  request: Request,
  identify: (request: Request) => Promise<Caller> | Caller,
  mistake: Mistake | undefined,
): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === '/livez') return new Response(null, { status: mistake === 'everything' ? 401 : 200 });
  if (mistake === 'everything') return refusal(403);
  try {
    const caller = await identify(request);
    const runId = pathname.split('/')[3];
    const route = ROUTES.find(({ method, path }) => method === request.method && path.split('/').length === pathname.split('/').length);
    if (route === undefined || route.scope === 'public') return refusal(404);
    if (mistake !== 'scope') requireScope(caller, route.scope);
    if (mistake !== 'run') requireRun(caller, runId);
    const isOwn = caller.principal?.tenant === ACME.tenant;
    if (runId === undefined) return Response.json({ runs: isOwn || mistake === 'list' ? [OWN_RUN] : [] });
    if (runId !== OWN_RUN) return refusal(404);
    if (isOwn) return Response.json({ runId });
    return mistake === 'tenant' ? Response.json({ runId }) : refusal(mistake === 'status' ? 403 : 404);
  } catch (error) {
    if (error instanceof AccessError) return refusal(error.code === 'unauthenticated' ? 401 : 403, error.parts.headers);
    if (errorCode(error) === 'run_not_found') return refusal(404);
    throw error;
  }
}

function refusal(status: number, headers: Record<string, string> = {}): Response {
  return Response.json({ status, instance: `urn:uuid:${crypto.randomUUID()}` }, { status, headers });
}
