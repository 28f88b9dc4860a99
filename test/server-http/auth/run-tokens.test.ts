import { SignJWT } from 'jose';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { errorCode, UsageError } from '../../../src/core/domain/errors.ts';
import type { Caller, Scope } from '../../../src/server/auth/caller.ts';
import { jwt } from '../../../src/server/auth/jwt.ts';
import { environmentTokenSecrets, RunTokens } from '../../../src/server/auth/run-tokens.ts';
import { bearing, fakeIssuer } from './fake-credentials.ts';

const SECRET = 's'.repeat(32);
const STREAM = 'http://localhost/base/v1/runs/r1/stream';
const ADA: Caller = {
  id: 'ada',
  principal: { tenant: 'acme', user: 'ada', claims: { role: 'clerk' } },
  scopes: ['runs:read', 'runs:write'],
};

const tokens = new RunTokens({ secrets: [SECRET] });

afterEach(() => void vi.useRealTimers());

async function refusalOf(work: Promise<unknown>): Promise<unknown> {
  return work.then(
    () => undefined,
    (error: unknown) => errorCode(error),
  );
}

describe('a run token', () => {
  it('represents its creator, with a part of the rights, for one run and some minutes', async () => {
    vi.useFakeTimers({ now: 1_000_000_400, toFake: ['Date'] });
    const { token, expiresAt } = await tokens.make(ADA, { runId: 'r1', minutes: 5 });
    expect(expiresAt).toBe(1_000_300_000);
    expect(await tokens.authenticate(bearing(token))).toEqual({
      id: 'ada',
      principal: { tenant: 'acme', user: 'ada' },
      scopes: ['runs:read'],
      agents: [],
      runId: 'r1',
      expiresAt,
    });
    vi.setSystemTime(expiresAt - 1);
    expect(await tokens.authenticate(bearing(token))).toBeDefined();
    vi.setSystemTime(expiresAt);
    expect(await tokens.authenticate(bearing(token))).toBeUndefined();
  });

  it('never outlives the credentials of its maker', async () => {
    const end = Date.now() + 90_500;
    const { expiresAt } = await tokens.make({ ...ADA, expiresAt: end }, { runId: 'r1', minutes: 60 });
    expect(expiresAt).toBe(Math.floor(end / 1000) * 1000);
    const { token } = await tokens.make({ ...ADA, expiresAt: Date.now() - 5_000 }, { runId: 'r1' });
    expect(await tokens.authenticate(bearing(token))).toBeUndefined();
  });

  it('has no rights that its maker lacks, none beyond reading and deciding, and no longer life than an hour', async () => {
    const make = (caller: Caller, scopes: Scope[], minutes = 5): Promise<unknown> =>
      refusalOf(tokens.make(caller, { runId: 'r1', minutes, scopes: scopes as ['runs:read'] }));
    expect(await make(ADA, ['runs:read', 'approvals:decide'])).toBe('forbidden');
    expect(await make({ ...ADA, scopes: ['admin'] }, ['runs:read', 'approvals:decide'])).toBeUndefined();
    expect(await make({ ...ADA, runId: 'r2' }, ['runs:read'])).toBe('run_not_found');
    for (const scope of ['runs:write', 'admin'] as const) expect(await make({ ...ADA, scopes: ['admin'] }, [scope])).toBe('invalid_input');
    for (const minutes of [0, -1, 61, Number.NaN, Infinity]) expect(await make(ADA, ['runs:read'], minutes)).toBe('invalid_input');
  });

  it('is accepted in the URL of a GET of a stream, and of no other request', async () => {
    const { token } = await tokens.make(ADA, { runId: 'r1' });
    const verify = (url: string, init?: RequestInit): unknown => tokens.authenticate(new Request(url, init));
    expect(await verify(`${STREAM}?cursor=x&token=${token}`)).toMatchObject({ runId: 'r1' });
    expect(await verify(`${STREAM}?token=${token}`, { method: 'POST' })).toBeUndefined();
    expect(await verify(`http://localhost/v1/runs/r1?token=${token}`)).toBeUndefined();
    expect(await verify(`http://localhost/v1/runs/r1?x=/stream&token=${token}`)).toBeUndefined();
    expect(await verify(`${STREAM}?token=${token}x`)).toBeUndefined();
    expect(await verify(STREAM)).toBeUndefined();
    expect(await tokens.authenticate(bearing('other', `${STREAM}?token=${token}`))).toBeUndefined();
  });

  it('is verified by each secret, and signed by the first', async () => {
    const old = (await tokens.make(ADA, { runId: 'r1' })).token;
    const rotated = new RunTokens({ secrets: ['t'.repeat(32), SECRET] });
    expect(await rotated.authenticate(bearing(old))).toMatchObject({ runId: 'r1' });
    const young = (await rotated.make(ADA, { runId: 'r1' })).token;
    expect(await tokens.authenticate(bearing(young))).toBeUndefined();
    expect(await new RunTokens({ secrets: ['t'.repeat(32)] }).authenticate(bearing(old))).toBeUndefined();
  });

  it('is not another token that was signed with the secret, and not one of an issuer', async () => {
    const claims = { run: 'r1', principal: 'all', scopes: ['runs:read'] };
    const signed = (header: { alg: string; typ?: string }, more: object): Promise<string> =>
      new SignJWT({ iss: 'longhaul', aud: 'longhaul:run', sub: 'ada', exp: Math.floor(Date.now() / 1000) + 60, ...claims, ...more })
        .setProtectedHeader(header)
        .sign(new TextEncoder().encode('s'.repeat(64)));
    const own = new RunTokens({ secrets: ['s'.repeat(64)] });
    const typ = 'longhaul-run+jwt';
    expect(await own.authenticate(bearing(await signed({ alg: 'HS256', typ }, {})))).toMatchObject({ id: 'ada', runId: 'r1' });
    expect(await own.authenticate(bearing(await signed({ alg: 'HS256' }, {})))).toBeUndefined();
    expect(await own.authenticate(bearing(await signed({ alg: 'HS512', typ }, {})))).toBeUndefined();
    for (const more of [
      { aud: 'longhaul' },
      { iss: 'x' },
      { run: '' },
      { scopes: ['admin'] },
      { scopes: 'runs:read' },
      { principal: { tenant: 7 } },
      { principal: undefined },
    ]) {
      expect(await own.authenticate(bearing(await signed({ alg: 'HS256', typ }, more)))).toBeUndefined();
    }
    const issuer = await fakeIssuer('https://issuer.example');
    const verify = jwt({ issuer: 'https://issuer.example', audience: 'longhaul', keys: issuer.keys });
    expect(await verify(bearing((await tokens.make(ADA, { runId: 'r1' })).token))).toBeUndefined();
    expect(await tokens.authenticate(bearing(await issuer.token()))).toBeUndefined();
  });
});

describe('the secrets of run tokens', () => {
  it('come from the environment, and are long', () => {
    expect(environmentTokenSecrets({})).toBeUndefined();
    expect(environmentTokenSecrets({ LONGHAUL_TOKEN_SECRET: ' ' })).toBeUndefined();
    expect(environmentTokenSecrets({ LONGHAUL_TOKEN_SECRET: `${SECRET}, ${SECRET}x` })).toEqual([SECRET, `${SECRET}x`]);
    for (const text of ['short-and-secret', `${SECRET},`, `${SECRET},short-and-secret`]) {
      expect(() => environmentTokenSecrets({ LONGHAUL_TOKEN_SECRET: text })).toThrow(UsageError);
      expect(() => environmentTokenSecrets({ LONGHAUL_TOKEN_SECRET: text })).not.toThrow('short-and-secret');
    }
    expect(() => new RunTokens({ secrets: [] })).toThrow('LONGHAUL_TOKEN_SECRET');
  });
});
