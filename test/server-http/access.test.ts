import { describe, expect, test } from 'vitest';
import { mcpRoute } from '../../src/server/protocols/mcp/mcp-route.ts';
import { hasScope } from '../../src/server/auth/caller.ts';
import { ROUTES as OWN_ROUTES } from '../../src/server/routes/all-routes.ts';
import { type Caller, createHandler, SCOPES } from '../../src/server/index.ts';
import { answer, clientWithRun } from './requests.ts';

/** A client that fails the test if it is used. */
const untouched = new Proxy(clientWithRun({}), {
  get: (target, name) => {
    if (name === 'as') return () => untouched;
    if (name === 'handle' || name === 'temporal' || name === 'principal') return Reflect.get(target, name) as unknown;
    throw new Error(`the client was asked for "${String(name)}"`);
  },
});

/** The routes of the service, and of third-party protocols. */
const ROUTES = [...OWN_ROUTES, mcpRoute([], () => undefined)];

/** The path of a route, with parameters that it accepts. */
function pathOf(template: string): string {
  return template
    .replace('{sha256}', 'a'.repeat(64))
    .replace('{turn}', '1')
    .replace('{step}', '1')
    .replaceAll(/\{\w+\}/g, 'x');
}

function statusFor(caller: Caller | undefined, method: string, path: string): Promise<{ status: number; body: { code: string } }> {
  return answer(createHandler(untouched, { authenticate: () => caller, onError: () => undefined }), method, path);
}

describe.each(ROUTES.map(({ definition }) => definition).map((one) => [`${one.method} ${one.path}`, one] as const))('%s', (_, route) => {
  const { method, path, scope, isOfCaller = false } = route;

  test('refuses a caller that is not verified, or has expired', async () => {
    expect(await statusFor(undefined, method, pathOf(path))).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    const expired: Caller = { id: 'c', principal: 'all', scopes: SCOPES, expiresAt: Date.now() - 1 };
    expect(await statusFor(expired, method, pathOf(path))).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
  });

  test('refuses a caller with every scope but its own, and those that include it', async () => {
    if (scope === 'public') throw new Error('a public route needs no credentials');
    const others = SCOPES.filter((one) => !hasScope({ scopes: [one] }, scope));
    expect(others.length).toBeGreaterThan(2);
    expect(await statusFor({ id: 'c', principal: 'all', scopes: others }, method, pathOf(path))).toMatchObject({
      status: 403,
      body: { code: 'forbidden' },
    });
  });

  test('answers a caller for one run about itself, or refuses it another one', async () => {
    const { status, body } = await statusFor({ id: 'c', principal: 'all', scopes: SCOPES, runId: 'mine' }, method, pathOf(path));
    const refused = /\{(?:runId|sessionId)\}/.test(path) ? [404, 'run_not_found'] : [403, 'forbidden'];
    expect([status, body.code]).toEqual(isOfCaller ? [200, undefined] : refused);
  });
});
