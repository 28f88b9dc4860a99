import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, type JWTPayload, type JWTVerifyGetKey, type JWTVerifyOptions } from 'jose';
import { principalProblem } from '../../../core/wire-schemas/principal-problem.ts';
import { unusableToken } from '../access/access-error.ts';
import { bearerCredentials } from '../bearer-credentials.ts';
import type { Authenticate, Caller } from '../caller.ts';
import { claimedRights } from './claimed-rights.ts';
import { issuerKeys } from './issuer-keys.ts';
import { checkJwtOptions, JWT_ALGORITHMS, type JwtOptions } from './jwt-options.ts';

/** The kinds of tokens that stand for a caller. An issuer signs others with the same keys, such as those about a log-out. */
const TYPES = new Set([undefined, 'jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);

/** The last moment that a `Date` can hold, in milliseconds. */
const LAST_MOMENT_MS = 8_640_000_000_000_000;

/** A longer token is refused before it is read. */
const MAX_CHARACTERS = 16_384;

/**
 * Verifies `Authorization: Bearer <token>` by JSON Web Tokens of one issuer. A wrong token stands for no caller; one that the issuer has
 * signed and that cannot be used rejects with `unauthenticated` and the reason. If the keys of the issuer cannot be read, the verification rejects with `authorization_failed`. Throws a UsageError for options that verify too little.
 */
export function jwt(options: JwtOptions): Authenticate {
  checkJwtOptions(options);
  const { issuer, audience, algorithms = JWT_ALGORITHMS, clockTolerance = 5, rights = claimedRights } = options;
  const keys = issuerKeys(options);
  const checks: JWTVerifyOptions = {
    issuer,
    audience: typeof audience === 'string' ? audience : [...audience],
    algorithms: [...algorithms],
    clockTolerance,
    requiredClaims: ['exp'],
  };
  return async (request): Promise<Caller | undefined> => {
    const token = bearerCredentials(request);
    if (token === undefined || !isFrom(issuer, token)) return undefined;
    const claims = await verifiedClaims(token, keys, checks);
    return claims && callerOf(claims, rights(claims));
  };
}

/** True for a token that says to be of the issuer. It is looked at first, so that no other token makes the server ask for keys. */
function isFrom(issuer: string, token: string): boolean {
  if (token.length > MAX_CHARACTERS) return false;
  try {
    const { typ } = decodeProtectedHeader(token);
    return TYPES.has(typ?.toLowerCase()) && decodeJwt(token).iss === issuer;
  } catch {
    return false;
  }
}

/** Returns the claims of a token; undefined if it is wrong. */
async function verifiedClaims(token: string, keys: JWTVerifyGetKey, checks: JWTVerifyOptions): Promise<JWTPayload | undefined> {
  try {
    return (await jwtVerify(token, keys, checks)).payload;
  } catch (error) {
    if (error instanceof errors.JWKSMultipleMatchingKeys) return claimsByAnyKey(token, error, checks);
    if (error instanceof errors.JOSEError) return undefined;
    throw refusalOfKey(error);
  }
}

/** Returns the refusal of a token by a key that is too weak for its algorithm, which the package reports as a wrong type; other errors unchanged. */
function refusalOfKey(error: unknown): unknown {
  if (!(error instanceof TypeError) || !/modulusLength|curve/i.test(error.message)) return error;
  return unusableToken('the key that has signed it is too weak: the issuer needs keys of RSA with 2,048 bits or more, or of another kind');
}

/** Returns the claims of a token that does not name its key, if one of those that come into question has signed it. */
async function claimsByAnyKey(
  token: string,
  candidates: errors.JWKSMultipleMatchingKeys,
  checks: JWTVerifyOptions,
): Promise<JWTPayload | undefined> {
  for await (const key of candidates) {
    try {
      return (await jwtVerify(token, key, checks)).payload;
    } catch (error) {
      if (!(error instanceof errors.JOSEError)) throw refusalOfKey(error);
    }
  }
  return undefined;
}

function callerOf({ sub, exp }: JWTPayload, rights: ReturnType<NonNullable<JwtOptions['rights']>>): Caller | undefined {
  const id = rights?.id ?? sub;
  if (rights === undefined || id === undefined || exp === undefined) return undefined;
  // `1e999` is valid JSON and an infinite number: such a token would never end.
  if (!(exp * 1000 <= LAST_MOMENT_MS)) throw unusableToken('the claim "exp" is later than any date: write the seconds since 1970');
  // The tolerance is for the beginning of a token: its end is that of streams, too.
  if (exp * 1000 <= Date.now()) return undefined;
  const { principal, scopes, agents } = rights;
  // No user of this service has such a name: a subject may be longer.
  const problem = principal === undefined ? undefined : principalProblem(principal);
  if (problem !== undefined) throw unusableToken(problem);
  return {
    id,
    scopes,
    ...(principal === undefined ? {} : { principal }),
    ...(agents === undefined ? {} : { agents }),
    expiresAt: exp * 1000,
  };
}
