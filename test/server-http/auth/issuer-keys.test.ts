import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { errorCode } from '../../../src/core/domain/errors.ts';
import { jwt } from '../../../src/server/auth/jwt.ts';
import { bearing, type FakeIssuer, fakeIssuer, type FakeSite, fakeSite } from './fake-credentials.ts';

const DISCOVERY = '/.well-known/openid-configuration';

let site: FakeSite;
let issuer: FakeIssuer;
beforeEach(async () => {
  site = await fakeSite();
  issuer = await fakeIssuer(site.url);
});
afterEach(() => site.close());

/** The id of the caller of a token, or the code of the error. */
async function outcome(verify: ReturnType<typeof jwt>, token: string): Promise<unknown> {
  try {
    return (await verify(bearing(token)))?.id;
  } catch (error) {
    return errorCode(error);
  }
}

function serveAll(): void {
  site.documents[DISCOVERY] = { issuer: site.url, jwks_uri: `${site.url}/keys` };
  site.documents['/keys'] = issuer.keys;
}

describe('the keys of an issuer', () => {
  it('are found by its discovery document, and kept', async () => {
    serveAll();
    const verify = jwt({ issuer: site.url, audience: 'longhaul' });
    const tokens = await Promise.all([issuer.token(), issuer.token({ sub: 'bob' })]);
    expect(await Promise.all(tokens.map((token) => outcome(verify, token)))).toEqual(['ada', 'bob']);
    expect(await outcome(verify, await issuer.token({}, { kid: 'unknown' }))).toBeUndefined();
    expect(site.requests).toEqual({ [DISCOVERY]: 1, '/keys': 1 });
  });

  it('are read from their URL', async () => {
    site.documents['/keys'] = issuer.keys;
    const verify = jwt({ issuer: site.url, audience: 'longhaul', jwksUrl: `${site.url}/keys` });
    expect(await outcome(verify, await issuer.token())).toBe('ada');
    expect(site.requests).toEqual({ '/keys': 1 });
  });

  it('are not asked for because of a token of another issuer or a forbidden algorithm', async () => {
    const verify = jwt({ issuer: site.url, audience: 'longhaul', algorithms: ['RS256'] });
    expect(await outcome(verify, await (await fakeIssuer('https://other.example')).token())).toBeUndefined();
    expect(await outcome(verify, await issuer.token())).toBeUndefined();
    expect(site.requests).toEqual({});
  });

  it.each<[string, () => void]>([
    ['no discovery document', () => delete site.documents[DISCOVERY]],
    ['one that is not JSON', () => (site.documents[DISCOVERY] = '<html>')],
    ['one of another issuer', () => (site.documents[DISCOVERY] = { issuer: 'https://other.example', jwks_uri: `${site.url}/keys` })],
    ['one with an unsafe URL', () => (site.documents[DISCOVERY] = { issuer: site.url, jwks_uri: 'http://other.example/keys' })],
    ['no keys', () => delete site.documents['/keys']],
    ['invalid keys', () => (site.documents['/keys'] = { keys: 'none' })],
    ['an endless answer', () => (site.documents['/keys'] = JSON.stringify({ keys: [], text: 'x'.repeat(1_000_000) }))],
  ])('with %s: the token may be a good one, and is one once the issuer answers', async (_, breakSite) => {
    serveAll();
    breakSite();
    const verify = jwt({ issuer: site.url, audience: 'longhaul' });
    const token = await issuer.token();
    expect(await outcome(verify, token)).toBe('authorization_failed');
    serveAll();
    expect(await outcome(verify, token)).toBe('ada');
  });

  it('of an issuer that does not answer are an error, too', async () => {
    const token = await issuer.token();
    const verify = jwt({ issuer: site.url, audience: 'longhaul', jwksUrl: `${site.url}/keys` });
    await site.close();
    expect(await outcome(verify, token)).toBe('authorization_failed');
  });
});
