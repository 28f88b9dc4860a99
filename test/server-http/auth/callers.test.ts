import { describe, expect, it } from 'vitest';
import { errorCode, LonghaulError } from '../../../src/core/domain/errors.ts';
import { anyOf, type Authenticate, bearerCredentials, type Caller } from '../../../src/server/auth/caller.ts';
import { requireCaller } from '../../../src/server/create-handler.ts';
import { bearing, challengeOf } from './fake-credentials.ts';

const ADA: Caller = { id: 'ada', principal: 'all', scopes: ['runs:read'] };
const NONE: Authenticate = () => undefined;
const FAILING: Authenticate = () => Promise.reject(new Error('the issuer is down'));

function refusalOf(authenticate: Authenticate, request = bearing('x')): Promise<unknown> {
  return requireCaller(request, authenticate).then(
    () => undefined,
    (error: unknown) => error,
  );
}

describe('the caller of a request', () => {
  it('is the caller of the credentials', async () => {
    expect(await requireCaller(bearing('x'), () => ADA)).toEqual(ADA);
    expect(await requireCaller(bearing('x'), () => ({ ...ADA, expiresAt: Date.now() + 60_000 }))).toMatchObject({ id: 'ada' });
  });

  it('is refused without credentials, and otherwise with wrong, revoked or expired ones', async () => {
    const missing = await refusalOf(NONE, bearing());
    expect([errorCode(missing), challengeOf(missing)]).toEqual(['unauthenticated', 'Bearer realm="longhaul"']);
    const wrong = [
      await refusalOf(NONE),
      await refusalOf(NONE, bearing(undefined, 'http://localhost/v1/runs/x/stream?token=y')),
      await refusalOf(() => ({ ...ADA, expiresAt: Date.now() - 1 })),
      await refusalOf(() => ({ ...ADA, expiresAt: Number.NaN })),
    ];
    for (const error of wrong) {
      expect([errorCode(error), challengeOf(error)]).toEqual(['unauthenticated', 'Bearer realm="longhaul", error="invalid_token"']);
    }
  });

  it('is not a refusal if the credentials cannot be verified', async () => {
    expect(errorCode(await refusalOf(FAILING))).toBe('authorization_failed');
    const own = (): never => {
      throw new LonghaulError('forbidden', 'not from here');
    };
    expect(errorCode(await refusalOf(own))).toBe('forbidden');
  });

  it('is a defect if it has invalid rights', async () => {
    const callers = [
      { ...ADA, id: '' },
      { ...ADA, scopes: 'admin' },
      { ...ADA, scopes: ['everything'] },
      { ...ADA, agents: 'clerk' },
      { ...ADA, principal: {} },
      { ...ADA, principal: { tenant: 7 } },
      { ...ADA, principal: { user: 'u'.repeat(201) } },
      { ...ADA, principal: { user: 'ada\ud83d' } },
    ];
    for (const caller of callers) expect(errorCode(await refusalOf(() => caller as unknown as Caller))).toBe('internal');
  });

  const HAS = { id: 'ada', scopes: ['runs:read'] };
  const ACME = { tenant: 'acme', user: 'ada' };

  it.each<[object, string]>([
    [
      { ...HAS, principle: ACME },
      'unknown field "principle" (known: id, name, principal, scopes, agents, runId, expiresAt). Did you mean "principal"?',
    ],
    [{ ...HAS, ...ACME }, 'unknown field "tenant"'],
    [{ ...HAS, principal: ACME, agent: ['clerk'] }, '. Did you mean "agents"?'],
    [{ ...HAS, principal: { ...ACME, tenent: 'x' } }, 'tenent'],
    [HAS, '"principal" is missing: write { tenant, user } of the caller, or \'all\' if it may access the runs of all tenants and users'],
    [{ ...HAS, principal: undefined }, '"principal" is missing'],
    [{ ...HAS, principal: null }, '"principal"'],
    [
      { ...HAS, principal: ACME, agents: undefined },
      '"agents" is undefined: give it, or leave "agents" out for a caller without that restriction',
    ],
    [{ ...HAS, principal: ACME, runId: undefined }, '"runId" is undefined'],
    [{ ...HAS, principal: 'acme' }, '"principal" is "acme"'],
  ])('is a defect if it does not clearly say what it may access: %j', async (caller, message) => {
    const refusal = await refusalOf(() => caller as Caller);
    expect(errorCode(refusal)).toBe('internal');
    expect(String(refusal)).toContain('"authenticate" returned an invalid caller: ');
    expect(String(refusal)).toContain(message);
  });
});

describe('several ways to verify a request', () => {
  it('are tried in their order, and the first that knows the caller decides', async () => {
    const other: Authenticate = () => ({ ...ADA, id: 'other' });
    expect(await anyOf(NONE, () => ADA, other)(bearing())).toEqual(ADA);
    expect(await anyOf(NONE, NONE)(bearing())).toBeUndefined();
    expect(await anyOf()(bearing())).toBeUndefined();
  });

  it('do without a failing one, unless only that one might have known the caller', async () => {
    expect(await anyOf(FAILING, () => ADA)(bearing())).toEqual(ADA);
    await expect(Promise.resolve(anyOf(FAILING, NONE)(bearing()))).rejects.toThrow('the issuer is down');
  });
});

describe('bearer credentials', () => {
  it('are the text after the scheme, in any case', () => {
    const of = (authorization: string): string | undefined =>
      bearerCredentials(new Request('http://localhost', { headers: { authorization } }));
    expect(['Bearer a.b-c', 'bearer  a.b-c', 'BEARER a.b-c '].map(of)).toEqual(['a.b-c', 'a.b-c', 'a.b-c']);
    expect(['Bearer', 'Bearer ', 'Bearer a b', 'Bearer a, Bearer b', 'Basic a', 'XBearer a'].map(of).filter(Boolean)).toEqual([]);
  });
});
