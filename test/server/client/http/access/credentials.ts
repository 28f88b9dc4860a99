import { anyOf, type Authenticate, type Caller, type Scope, SCOPES } from '../../../../../src/server/auth/caller.ts';
import { apiKeys, createApiKey } from '../../../../../src/server/auth/api-keys.ts';
import { jwt } from '../../../../../src/server/auth/jwt.ts';
import { RunTokens } from '../../../../../src/server/auth/run-tokens.ts';
import type { Identity } from '../../../../../src/core/domain/run.ts';
import { fakeIssuer } from '../../../../server-http/auth/fake-issuer.ts';
import { memoryApiKeys } from '../../../../server-http/auth/memory-api-keys.ts';

const ISSUER = 'https://issuer.example/';
const OTHER_AGENTS = ['other'];

/** The credentials of callers, by their defect. Undefined: no credentials. */
export interface Credentials {
  authenticate: Authenticate;
  tokenSecrets: string[];
  /** Nothing may be done with these. */
  refused: Readonly<Record<string, string | undefined>>;
  /** Credentials of other principals, with all scopes. */
  foreign: Readonly<Record<string, string>>;
  /** Credentials of the principal for other agents than its runs have. */
  ofOtherAgents: Readonly<Record<string, string>>;
  /** Credentials of the principal for another run, with the scopes that a token can have. */
  ofOtherRun: string;
  /** A key of the principal with these scopes alone. */
  withScopes: (scopes: readonly Scope[]) => Promise<string>;
  /** A token of the issuer for the principal. */
  jwtOf: (scope: string) => Promise<string>;
  /** A token of the principal for its run. */
  tokenOf: (runId: string) => Promise<string>;
}

/** Makes credentials of a principal, and of those that attack it. */
export async function credentialsAround({ tenant, user }: Required<Identity>): Promise<Credentials> {
  const store = memoryApiKeys();
  const tokenSecrets = ['s'.repeat(32)];
  const tokens = new RunTokens({ secrets: tokenSecrets });
  const [issuer, forger] = await Promise.all([fakeIssuer(ISSUER), fakeIssuer(ISSUER)]);
  const own = { tenant, user };
  const keyOf = async (principal: Identity, rights: { scopes?: readonly Scope[]; agents?: string[]; expiresAt?: number } = {}) =>
    createApiKey(store, { name: 'test', scopes: SCOPES, principal, ...rights });
  const all = SCOPES.join(' ');
  const token = (claims: object, from = issuer): Promise<string> => from.token({ tenant, sub: user, scope: all, ...claims });
  const maker: Caller = { id: 'maker', principal: own, scopes: SCOPES };
  const runToken = async (runId: string, caller = maker): Promise<string> =>
    (await tokens.make(caller, { runId, scopes: ['runs:read', 'approvals:decide'] })).token;
  const [revoked, good] = [await keyOf(own), (await keyOf(own)).text];
  await store.revoke(revoked.key.id, Date.now());
  const past = Date.now() - 60_000;
  return {
    authenticate: anyOf(apiKeys(store), jwt({ issuer: ISSUER, audience: 'longhaul', keys: issuer.keys })),
    tokenSecrets,
    refused: {
      'no credentials': undefined,
      'a wrong secret': `${good.slice(0, -1)}${good.endsWith('A') ? 'B' : 'A'}`,
      'an expired key': (await keyOf(own, { expiresAt: past })).text,
      'a revoked key': revoked.text,
      'an expired JWT': await token({ exp: Math.floor(past / 1_000) }),
      'a forged JWT': await token({}, forger),
      'an expired run token': await runToken('run-1', { ...maker, expiresAt: past }),
    },
    foreign: {
      'a foreign tenant': (await keyOf({ tenant: `not-${tenant}`, user })).text,
      'a foreign user': (await keyOf({ tenant, user: `not-${user}` })).text,
      'the tenant without a user': (await keyOf({ tenant })).text,
      'a foreign user with a JWT': await token({ sub: `nor-${user}` }),
    },
    ofOtherAgents: {
      'a key for other agents': (await keyOf(own, { agents: OTHER_AGENTS })).text,
      'a JWT for other agents': await token({ agents: OTHER_AGENTS }),
    },
    ofOtherRun: await runToken('another-run'),
    withScopes: async (scopes) => (await keyOf(own, { scopes })).text,
    jwtOf: (scope) => token({ scope }),
    tokenOf: (runId) => runToken(runId),
  };
}
