import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jwt } from '../../../src/server/index.ts';
import { type FakeLogin, startFakeLogin } from './fake-login.ts';
import { press, shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

const CLIENT = 'studio-of-acme';

describe.skipIf(SKIPPED !== '')(`people log in to Studio at an issuer${SKIPPED}`, { timeout: 120_000 }, () => {
  let studio: StudioTestbed;
  let login: FakeLogin;
  beforeAll(async () => {
    login = await startFakeLogin(CLIENT);
    studio = await StudioTestbed.open({
      authenticate: jwt({ issuer: login.url, audience: 'longhaul' }),
      oidc: { issuer: login.url, clientId: CLIENT },
    });
    studio.leadsTo.add(login.url);
    login.claims = { tenant: studio.tenant, sub: 'ada', scope: 'runs:read runs:write' };
  }, 120_000);
  afterAll(async () => {
    await studio?.[Symbol.asyncDispose]();
    await login?.close();
  });

  test('a reader comes back to the place it wanted, and no code and no token is in an address or in a storage', async () => {
    const page = await studio.page('#/agents/clerk');
    await shows(page, 'This service asks who you are');
    await press(page, `Log in at ${new URL(login.url).host}`);
    await shows(page, 'ada ·');
    await shows(page, 'You answer customers');
    expect(new URL(page.url()).search).toBe('');
    expect(new URL(page.url()).hash).toBe('#/agents/clerk');
    expect(await page.evaluate('JSON.stringify([{ ...sessionStorage }, { ...localStorage }, document.cookie])')).toBe('[{},{},""]');
    // The page reaches its own service alone, which asks the issuer.
    expect(studio.requests.filter(({ path }) => path === '/v1/login/oidc')).toEqual([{ method: 'POST', path: '/v1/login/oidc' }]);
    expect(login.asked).toContain('/token');
    expect(studio.problems).toEqual([]);
    await page.reload();
    await shows(page, 'This service asks who you are');
  });

  test('a log-in that the tab has not begun, or that the issuer refuses, lets nobody in', async () => {
    const before = login.asked.length;
    const forged = await studio.page('?code=stolen&state=forged#/runs');
    await shows(forged, 'This tab has not begun that log-in');
    expect(new URL(forged.url()).search).toBe('');
    expect(login.asked.slice(before)).not.toContain('/token');
    login.refuses = true;
    const refused = await studio.page('#/runs');
    await shows(refused, 'This service asks who you are');
    await press(refused, 'Log in at');
    await shows(refused, 'The issuer has not let you in: access_denied');
    login.refuses = false;
    await press(refused, 'Log in at');
    await shows(refused, 'ada ·');
  });

  test('a code is exchanged only for callers that have begun with its verifier', async () => {
    const url = new URL(studio.url).origin;
    const ways = (await (await fetch(`${url}/v1/login`)).json()) as { oidc: object };
    expect(ways).toEqual({ oidc: { authorizationEndpoint: `${login.url}/authorize`, clientId: CLIENT, scope: 'openid' } });
    const body = JSON.stringify({ code: 'guessed', codeVerifier: 'v'.repeat(43), redirectUri: studio.url });
    const answer = await fetch(`${url}/v1/login/oidc`, { method: 'POST', body, headers: { 'content-type': 'application/json' } });
    expect([answer.status, await answer.json()]).toMatchObject([401, { code: 'unauthenticated' }]);
  });
});
