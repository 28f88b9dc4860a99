import { createHash, randomUUID } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { jwt } from '../../../src/server/index.ts';
import { type FakeIssuer, fakeIssuer } from '../../server-http/auth/fake-credentials.ts';
import { press, shows, SKIPPED, StudioTestbed } from './studio-testbed.ts';

/** An issuer where people log in: everybody is `ada`, and is sent back with a code. */
interface FakeLogin {
  url: string;
  /** The requested paths, without their queries. */
  asked: string[];
  /** The claims of the tokens that it gives. */
  claims: Record<string, unknown>;
  /** True: it sends people back with an error in the place of a code. */
  refuses: boolean;
  close(): Promise<void>;
}

interface Code {
  challenge: string | null;
  redirectUri: string | null;
  clientId: string | null;
}

/** Starts an issuer with the code flow and PKCE for one client. It gives a code for one token. */
async function startFakeLogin(clientId: string): Promise<FakeLogin> {
  const codes = new Map<string, Code>();
  const login: Pick<FakeLogin, 'asked' | 'claims' | 'refuses'> = { asked: [], claims: {}, refuses: false };
  let url = '';
  let issuer: FakeIssuer | undefined;
  const tokenFor = async (form: URLSearchParams): Promise<object | undefined> => {
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const challenge = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    const fits = code?.challenge === challenge && code.redirectUri === form.get('redirect_uri') && code.clientId === form.get('client_id');
    return fits && form.get('grant_type') === 'authorization_code'
      ? { access_token: await issuer?.token(login.claims), token_type: 'Bearer' }
      : undefined;
  };
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '', url);
    login.asked.push(pathname);
    const json = (body: unknown, status = 200): unknown =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    const documents: Record<string, unknown> = {
      '/.well-known/openid-configuration': {
        issuer: url,
        jwks_uri: `${url}/jwks`,
        authorization_endpoint: `${url}/authorize`,
        token_endpoint: `${url}/token`,
      },
      '/jwks': issuer?.keys,
    };
    if (pathname in documents) return json(documents[pathname]);
    if (pathname === '/authorize') {
      const back = new URL(searchParams.get('redirect_uri') ?? '');
      const code = randomUUID();
      const isKnown = searchParams.get('client_id') === clientId && searchParams.get('code_challenge_method') === 'S256';
      if (login.refuses || !isKnown) back.searchParams.set('error', 'access_denied');
      else back.searchParams.set('code', code);
      back.searchParams.set('state', searchParams.get('state') ?? '');
      codes.set(code, { challenge: searchParams.get('code_challenge'), redirectUri: searchParams.get('redirect_uri'), clientId });
      return response.writeHead(302, { location: back.href }).end();
    }
    let body = '';
    request.on('data', (chunk) => (body += String(chunk)));
    request.on('end', () => {
      void tokenFor(new URLSearchParams(body)).then((found) => (found === undefined ? json({ error: 'invalid_grant' }, 400) : json(found)));
    });
    return undefined;
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  issuer = await fakeIssuer(url);
  return Object.assign(login, {
    url,
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  });
}

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
