import { generateKeyPairSync, sign } from 'node:crypto';
import { type JSONWebKeySet, SignJWT, UnsecuredJWT } from 'jose';
import { beforeAll, describe, expect, it } from 'vitest';
import { UsageError } from '../../../src/core/domain/errors.ts';
import type { Caller } from '../../../src/server/auth/caller.ts';
import { jwt, type JwtOptions, type JwtRights } from '../../../src/server/auth/jwt.ts';
import { bearing, type FakeIssuer, fakeIssuer, fakeSite } from './fake-credentials.ts';

const ISSUER = 'https://issuer.example/';

let issuer: FakeIssuer;
beforeAll(async () => (issuer = await fakeIssuer(ISSUER)));

async function callerOf(token: string, options: Partial<JwtOptions> = {}): Promise<Caller | undefined> {
  return jwt({ issuer: ISSUER, audience: 'longhaul', keys: issuer.keys, ...options })(bearing(token));
}

function inSeconds(seconds: number): number {
  return Math.floor(Date.now() / 1000) + seconds;
}

describe('a JSON Web Token', () => {
  it('represents a caller by its usual claims, until it expires', async () => {
    const exp = inSeconds(60);
    expect(
      await callerOf(await issuer.token({ exp, tenant: 'acme', scope: 'openid runs:read runs:read runs:write', agents: ['clerk'] })),
    ).toEqual({
      id: 'ada',
      principal: { tenant: 'acme', user: 'ada' },
      scopes: ['runs:read', 'runs:write'],
      agents: ['clerk'],
      expiresAt: exp * 1000,
    });
    expect(await callerOf(await issuer.token({ org_id: 'org1' }, { typ: 'at+jwt' }))).toMatchObject({
      principal: { tenant: 'org1', user: 'ada' },
      scopes: [],
    });
    expect((await callerOf(await issuer.token({ aud: ['other', 'longhaul'] })))?.principal).toEqual({ user: 'ada' });
  });

  it.each<[string, Record<string, unknown>, { typ?: string; kid?: string }?]>([
    ['of another issuer', { iss: 'https://issuer.example' }],
    ['for another audience', { aud: 'other' }],
    ['without an audience', { aud: undefined }],
    ['that has expired', { exp: inSeconds(-60) }],
    ['that does not expire', { exp: undefined }],
    ['that is not valid yet', { nbf: inSeconds(60) }],
    ['about a log-out', {}, { typ: 'logout+jwt' }],
    ['by an unknown key', {}, { kid: 'k2' }],
  ])('%s is refused', async (_, claims, header) => {
    expect(await callerOf(await issuer.token(claims, header))).toBeUndefined();
  });

  it.each<[string, string, string]>([
    ['exp', 'of no end', '1e999'],
    ['exp', 'after the last date', '1e300'],
    ['exp', 'in microseconds', '1800000000000000'],
    ['tenant', 'null', 'null'],
    ['tenant', 'a list', '["acme"]'],
    ['tenant', 'a number', '5'],
    ['tenant', 'an object', '{}'],
    ['tenant', 'false', 'false'],
    ['tenant', 'empty', '""'],
    ['tenant', 'too long', JSON.stringify('t'.repeat(201))],
    ['tenant', 'half of a surrogate pair', String.raw`"acme\ud83d"`],
    ['org_id', 'null', 'null'],
    ['org_id', 'a number', '7'],
    ['scope', 'a list', '["admin"]'],
    ['scope', 'null', 'null'],
    ['agents', 'a text', '"clerk"'],
    ['agents', 'null', 'null'],
    ['agents', 'a list with null', '[null]'],
    ['sub', 'empty', '""'],
    ['sub', 'too long', JSON.stringify('u'.repeat(201))],
  ])('with the claim "%s" that is %s is refused in words', async (claim, _, value) => {
    const named = ['tenant', 'org_id', 'sub'].includes(claim) ? new RegExp(`"${claim}"|principal`) : `"${claim}"`;
    const refused = callerOf(
      await issuer.signed(`{"iss":"${ISSUER}","aud":"longhaul","sub":"ada","exp":${inSeconds(60)},"${claim}":${value}}`),
    );
    await expect(refused).rejects.toMatchObject({ code: 'unauthenticated', message: expect.stringMatching(named) as string });
  });

  it('without a subject is refused in words', async () => {
    await expect(callerOf(await issuer.token({ sub: undefined }))).rejects.toMatchObject({ code: 'unauthenticated' });
  });

  it('by a key that is too weak is refused with a message, and not retried', async () => {
    const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
    const keys = { keys: [{ ...publicKey.export({ format: 'jwk' }), alg: 'RS256', kid: 'weak' }] } as JSONWebKeySet;
    const encoded = (part: object): string => Buffer.from(JSON.stringify(part)).toString('base64url');
    const body = `${encoded({ alg: 'RS256', kid: 'weak' })}.${encoded({ iss: ISSUER, aud: 'longhaul', sub: 'ada', exp: inSeconds(60) })}`;
    const token = `${body}.${sign('sha256', Buffer.from(body), privateKey).toString('base64url')}`;
    expect(() => jwt({ issuer: ISSUER, audience: 'longhaul', keys })).toThrow('2048 bits');
    const site = await fakeSite();
    site.documents['/keys'] = keys;
    try {
      const authenticate = jwt({ issuer: ISSUER, audience: 'longhaul', jwksUrl: `${site.url}/keys` });
      await expect(authenticate(bearing(token))).rejects.toMatchObject({
        code: 'unauthenticated',
        message: expect.stringContaining('weak') as string,
      });
    } finally {
      await site.close();
    }
  });

  it('is refused without a signature, with one by a public key as a secret, and with one by another key of the same name', async () => {
    const claims = { iss: ISSUER, aud: 'longhaul', sub: 'ada', exp: inSeconds(60) };
    const publicKey = new TextEncoder().encode(JSON.stringify(issuer.keys.keys[0]));
    const header = { alg: 'HS256', kid: 'k1' };
    expect(await callerOf(new UnsecuredJWT(claims).encode())).toBeUndefined();
    expect(await callerOf(await new SignJWT(claims).setProtectedHeader(header).sign(publicKey))).toBeUndefined();
    expect(await callerOf(await (await fakeIssuer(ISSUER)).token())).toBeUndefined();
    const token = await issuer.token({ scope: 'runs:read' });
    const [head, , signature] = token.split('.');
    const payload = Buffer.from(JSON.stringify({ ...claims, scope: 'admin' })).toString('base64url');
    expect(await callerOf(`${head}.${payload}.${signature}`)).toBeUndefined();
    expect(await callerOf(await issuer.token(), { algorithms: ['RS256'] })).toBeUndefined();
    for (const text of ['', 'a.b.c', 'lh_a_b', `${token}.x`, 'x'.repeat(20_000)]) expect(await callerOf(text)).toBeUndefined();
  });

  it('may begin a little later, and ends exactly', async () => {
    expect(await callerOf(await issuer.token({ nbf: inSeconds(3) }))).toBeDefined();
    expect(await callerOf(await issuer.token({ nbf: inSeconds(3) }), { clockTolerance: 0 })).toBeUndefined();
    for (const clockTolerance of [0, 5, 60]) {
      expect(await callerOf(await issuer.token({ exp: inSeconds(0) }), { clockTolerance })).toBeUndefined();
    }
  });

  it('without the name of its key is verified by each key that fits', async () => {
    const [one, two] = await Promise.all([fakeIssuer(ISSUER, { named: false }), fakeIssuer(ISSUER, { named: false })]);
    const keys = { keys: [...one.keys.keys, ...two.keys.keys] };
    for (const from of [one, two]) expect(await callerOf(await from.token(), { keys })).toMatchObject({ id: 'ada' });
    expect(await callerOf(await (await fakeIssuer(ISSUER, { named: false })).token(), { keys })).toBeUndefined();
  });

  it('has the rights that a function of the operator returns', async () => {
    const options: Partial<JwtOptions> = {
      rights: ({ role, sub }) =>
        role === 'ops' ? { id: `ops:${sub}`, principal: 'all', scopes: ['admin'], agents: ['clerk'] } : undefined,
    };
    const token = await issuer.token({ role: 'ops' });
    expect(await callerOf(token, options)).toMatchObject({ id: 'ops:ada', principal: 'all', scopes: ['admin'], agents: ['clerk'] });
    expect(await callerOf(await issuer.token(), options)).toBeUndefined();
  });

  it.each<[object, string]>([
    [
      { principle: { tenant: 'acme', user: 'ada' }, scopes: [] },
      'unknown field "principle" (known: id, principal, scopes, agents). Did you mean',
    ],
    [{ tenant: 'acme', user: 'ada', scopes: [] }, 'unknown field "tenant"'],
    [{ principal: { user: 'ada' }, scopes: [], agent: ['clerk'] }, '. Did you mean "agents"?'],
    [{ scopes: [] }, '"principal" is missing: write { tenant, user } of the caller, or \'all\''],
  ])('is refused if the function does not clearly say what it may access: %j', async (rights, message) => {
    const refused = callerOf(await issuer.token(), { rights: () => rights as JwtRights });
    await expect(refused).rejects.toMatchObject({ code: 'internal' });
    await expect(refused).rejects.toThrow('"rights" of "jwt" returned invalid rights: ');
    await expect(refused).rejects.toThrow(message);
  });
});

describe('the verification of tokens', () => {
  it.each<[string, Partial<JwtOptions>]>([
    ['issuer', { issuer: '' }],
    ['audience', { audience: '' }],
    ['audience', { audience: [] }],
    ['audience', { audience: [''] }],
    ['jwksUrl', { jwksUrl: 'https://issuer.example/keys' }],
    ['HS256', { algorithms: ['HS256' as 'RS256'] }],
    ['none', { algorithms: ['none' as 'RS256'] }],
    ['algorithms', { algorithms: [] }],
    ['clockTolerance', { clockTolerance: 61 }],
    ['clockTolerance', { clockTolerance: Number.NaN }],
    ['keys', { keys: { keys: [{ kty: 'oct', k: 'c2VjcmV0' }] } }],
    ['keys', { keys: { keys: [{ kty: 'OKP', d: 'x' }] } }],
  ])('refuses options that verify too little: %s', (named, options) => {
    const all = { issuer: ISSUER, audience: 'longhaul', keys: issuer.keys, ...options };
    expect(() => jwt(all)).toThrow(UsageError);
    expect(() => jwt(all)).toThrow(named);
  });

  it('takes keys over https, or from this machine', () => {
    for (const url of ['http://issuer.example', 'file:///keys', 'issuer.example']) {
      expect(() => jwt({ issuer: url, audience: 'longhaul' })).toThrow('https');
      expect(() => jwt({ issuer: ISSUER, audience: 'longhaul', jwksUrl: url })).toThrow('https');
    }
    for (const url of ['https://issuer.example', 'http://localhost:9000'])
      expect(() => jwt({ issuer: url, audience: 'longhaul' })).not.toThrow();
  });
});
