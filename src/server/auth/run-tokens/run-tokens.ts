import { errors, jwtVerify, type JWTPayload, SignJWT } from 'jose';
import { z } from 'zod';
import { LonghaulError } from '../../../core/domain/errors.ts';
import { identityOf } from '../../../core/domain/run.ts';
import { narrowTo } from '../access/narrow-to.ts';
import { bearerCredentials } from '../bearer-credentials.ts';
import type { Authenticate, Caller, Scope } from '../caller.ts';
import { RUN_TOKEN_TYPE, tokenInUrl } from './bears-run-token.ts';
import { tokenKeys } from './token-secrets.ts';

/** The rights that a run token can have. */
export const RUN_TOKEN_SCOPES = ['runs:read', 'approvals:decide'] as const satisfies readonly Scope[];

/** The longest life of a run token, in minutes. */
export const MAX_RUN_TOKEN_MINUTES = 60;

/** The options of run tokens. */
export interface RunTokenOptions {
  /** The secrets of at least 32 bytes: the first one signs, and all verify. To change it, put the new one first, and remove the old one an hour later. */
  secrets: readonly string[];
}

/** A request for a run token. */
export interface RunTokenRequest {
  runId: string;
  /** Default 15, at most 60. */
  minutes?: number;
  /** Default: `runs:read`. */
  scopes?: readonly (typeof RUN_TOKEN_SCOPES)[number][];
}

/** A token that was made. */
export interface RunToken {
  token: string;
  /** Milliseconds since the epoch. */
  expiresAt: number;
}

const ISSUER = 'longhaul';
const AUDIENCE = 'longhaul:run';
const ALGORITHM = 'HS256';

const TEXT = z.string().min(1);
const CLAIMS = z.looseObject({
  sub: TEXT,
  exp: z.number(),
  run: TEXT,
  tenant: TEXT.exactOptional(),
  user: TEXT.exactOptional(),
  scopes: z.array(z.enum(RUN_TOKEN_SCOPES)),
});

/** Makes and verifies tokens for one run and some minutes, which a page may put into the URL of a stream. */
export class RunTokens {
  readonly #keys: [Uint8Array, ...Uint8Array[]];

  /** Throws a UsageError without a secret, or for a short one. */
  constructor({ secrets }: RunTokenOptions) {
    this.#keys = tokenKeys(secrets);
  }

  /**
   * Makes a token with a part of the caller's rights, which never outlives the caller's own credentials. Throws `forbidden` for rights that
   * the caller lacks, and `invalid_input` for others that no run token has, and for a time that is none. The server checks first that the
   * caller reaches the run.
   */
  async make(caller: Caller, { runId, minutes = 15, scopes = ['runs:read'] }: RunTokenRequest): Promise<RunToken> {
    if (!(minutes > 0 && minutes <= MAX_RUN_TOKEN_MINUTES))
      throw new LonghaulError('invalid_input', `"minutes" is ${minutes}: write a number above 0, and at most ${MAX_RUN_TOKEN_MINUTES}`);
    const other = scopes.find((scope) => !RUN_TOKEN_SCOPES.includes(scope));
    if (other !== undefined)
      throw new LonghaulError('invalid_input', `A run token cannot have the scope "${other}": choose from ${RUN_TOKEN_SCOPES.join(', ')}`);
    const narrowed = narrowTo(caller, { runId, scopes, expiresAt: Date.now() + minutes * 60_000 });
    // The claim counts seconds: rounding up would outlive the caller.
    const exp = Math.floor(narrowed.expiresAt / 1000);
    const claims = { run: runId, scopes: narrowed.scopes, ...identityOf(caller.principal ?? {}) };
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: ALGORITHM, typ: RUN_TOKEN_TYPE })
      .setIssuer(ISSUER)
      .setAudience(AUDIENCE)
      .setSubject(caller.id)
      .setIssuedAt()
      .setExpirationTime(exp)
      .sign(this.#keys[0]);
    return { token, expiresAt: exp * 1000 };
  }

  /** Verifies `Authorization: Bearer <token>`, and `?token=` of a GET of a stream: a browser's `EventSource` sends no headers. */
  readonly authenticate: Authenticate = async (request) => {
    const token = bearerCredentials(request) ?? tokenInUrl(request);
    if (token === undefined) return undefined;
    for (const key of this.#keys) {
      const claims = await claimsBy(key, token);
      if (claims !== undefined) return callerOf(claims);
    }
    return undefined;
  };
}

async function claimsBy(key: Uint8Array, token: string): Promise<JWTPayload | undefined> {
  const checks = { issuer: ISSUER, audience: AUDIENCE, algorithms: [ALGORITHM], typ: RUN_TOKEN_TYPE, requiredClaims: ['exp'] };
  try {
    return (await jwtVerify(token, key, checks)).payload;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

/** Returns the caller of verified claims; undefined for those of another release. */
function callerOf(claims: JWTPayload): Caller | undefined {
  const { success, data } = CLAIMS.safeParse(claims);
  if (!success) return undefined;
  const { sub, exp, run, tenant, user, scopes } = data;
  const principal = identityOf({ tenant, user });
  return {
    id: sub,
    ...(tenant === undefined && user === undefined ? {} : { principal }),
    scopes,
    agents: [],
    runId: run,
    expiresAt: exp * 1000,
  };
}
