import {
  createLocalJWKSet,
  createRemoteJWKSet,
  customFetch,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  type JWTPayload,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
} from 'jose';
import { LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { defined, isJsonObject, isTexts, type JsonObject } from '../../core/domain/json.ts';
import { identityOf, type Principal, unknownPrincipalField } from '../../core/domain/run.ts';
import { unknownField } from '../../core/domain/text.ts';
import { principalProblem } from '../../core/input-checks.ts';
import {
  type Authenticate,
  bearerCredentials,
  type Caller,
  isScope,
  missingPrincipal,
  type Scope,
  undefinedRight,
  unusableToken,
} from './caller.ts';
import { isLoopback } from './open-access.ts';

/** The token types that identify a caller. An issuer signs others with the same keys, such as logout tokens. */
const TYPES = new Set([undefined, 'jwt', 'at+jwt', 'application/jwt', 'application/at+jwt']);

/** The latest time that a `Date` can hold, in milliseconds. */
const LAST_MOMENT_MS = 8_640_000_000_000_000;

/** Longer tokens are refused before they are parsed. */
const MAX_CHARACTERS = 16_384;

/**
 * Verifies JSON Web Tokens of one issuer in `Authorization: Bearer <token>`. A wrong token resolves with undefined. One that the issuer
 * has signed but that is unusable rejects with `unauthenticated` and the reason. If the issuer's keys cannot be read, the verification
 * rejects with `authorization_failed`. Throws a UsageError for options that verify too little.
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
    return claims && callerOfClaims(claims, rights(claims));
  };
}

/** True for a token that names the issuer. Checked first, so that no other token makes the server fetch keys. */
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

/** Returns the error for a key that is too weak for its algorithm, which the package reports as a TypeError; other errors unchanged. */
function refusalOfKey(error: unknown): unknown {
  if (!(error instanceof TypeError) || !/modulusLength|curve/i.test(error.message)) return error;
  return unusableToken('the key that has signed it is too weak: the issuer needs keys of RSA with 2,048 bits or more, or of another kind');
}

/** Returns the claims of a token that does not name its key, if one of the candidate keys has signed it. */
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

function callerOfClaims({ sub, exp }: JWTPayload, rights: ReturnType<NonNullable<JwtOptions['rights']>>): Caller | undefined {
  if (rights !== undefined) requireRights(rights);
  const id = rights?.id ?? sub;
  if (rights === undefined || id === undefined || exp === undefined) return undefined;
  // `1e999` is valid JSON and an infinite number: such a token would never end.
  if (!(exp * 1000 <= LAST_MOMENT_MS)) throw unusableToken('the claim "exp" is later than any date: write the seconds since 1970');
  // The tolerance applies only to `nbf`: `exp` also ends streams.
  if (exp * 1000 <= Date.now()) return undefined;
  const { principal, scopes, agents } = rights;
  // A subject may be longer than any user name that the service accepts.
  const problem = principal === 'all' ? undefined : principalProblem(principal);
  if (problem !== undefined) throw unusableToken(problem);
  return {
    id,
    principal,
    scopes,
    ...defined({ agents }),
    expiresAt: exp * 1000,
  };
}

/** The fields of rights. The compiler reports a missing and an unknown one. */
const RIGHTS_FIELDS: Readonly<Record<keyof JwtRights, true>> = { id: true, principal: true, scopes: true, agents: true };

/** Throws `internal` for rights of the operator's code with an unknown field or without a principal: a mistake must not widen them. */
function requireRights(rights: JwtRights): void {
  const problem = unknownField(rights, RIGHTS_FIELDS) ?? undefinedRight(rights, ['agents']) ?? problemOfPrincipal(rights.principal);
  if (problem !== undefined) throw new LonghaulError('internal', `"rights" of "jwt" returned invalid rights: ${problem}`);
}

/** Names come from the token, which may be wrong; fields come from the operator's code. */
function problemOfPrincipal(principal: JwtRights['principal'] | undefined): string | undefined {
  if (principal === undefined) return missingPrincipal(undefined);
  const unknown = isJsonObject(principal) ? unknownPrincipalField(principal) : undefined;
  return unknown === undefined ? undefined : `"principal": ${unknown}`;
}

/**
 * Returns the rights in the usual claims. Throws `unauthenticated` for a token without a subject, and for a claim that
 * has another type or is null: ignoring it could widen the rights.
 */
function claimedRights({ sub, tenant, org_id: organization, scope, agents }: JWTPayload): JwtRights {
  const owner = textIn('tenant', tenant) ?? textIn('org_id', organization);
  if (typeof sub !== 'string' || sub === '') throw unusableToken('the claim "sub" names nobody: write the user into it');
  if (agents !== undefined && !isTexts(agents))
    throw unusableToken('the claim "agents" is not a list of names: write a list, or leave it out');
  return {
    principal: identityOf({ tenant: owner, user: sub }),
    scopes: [...new Set(textIn('scope', scope)?.split(' '))].filter(isScope),
    ...defined({ agents }),
  };
}

/** Returns the text of a claim; undefined if the token lacks it. */
function textIn(name: string, claim: unknown): string | undefined {
  if (claim === undefined || typeof claim === 'string') return claim;
  const kind = claim === null ? 'null' : Array.isArray(claim) ? 'a list' : `of type "${typeof claim}"`;
  throw unusableToken(`the claim "${name}" is ${kind}: write a text, or leave it out`);
}

/** How long an issuer may take to answer. */
const TIMEOUT_MS = 5_000;

/** Returns the issuer's keys: the given ones, or those at its URL, cached for ten minutes. */
function issuerKeys({ issuer, jwksUrl, keys }: Pick<JwtOptions, 'issuer' | 'jwksUrl' | 'keys'>): JWTVerifyGetKey {
  if (keys !== undefined) return createLocalJWKSet(keys);
  if (jwksUrl !== undefined) return available(issuer, remoteKeys(jwksUrl));
  return available(issuer, discoveredKeys(issuer));
}

function remoteKeys(url: string): JWTVerifyGetKey {
  return createRemoteJWKSet(new URL(url), { timeoutDuration: TIMEOUT_MS, [customFetch]: boundedFetch });
}

/** Returns the keys at the URL in the issuer's discovery document, which is read once. */
function discoveredKeys(issuer: string): JWTVerifyGetKey {
  let discovered: Promise<JWTVerifyGetKey> | undefined;
  return async (header, token) => {
    discovered ??= discover(issuer).then(remoteKeys);
    const keys = await discovered.catch((error: unknown) => {
      discovered = undefined;
      throw error;
    });
    return keys(header, token);
  };
}

async function discover(issuer: string): Promise<string> {
  return discoveredUrl(await discoveryDocument(issuer), 'jwks_uri');
}

/** Reads the discovery document of an issuer. Throws if there is none, or if it belongs to another issuer. */
export async function discoveryDocument(issuer: string): Promise<JsonObject> {
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await boundedFetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (response.status !== 200) throw new Error(`"${url}" does not answer with 200`);
  const found: unknown = await response.json();
  if (!isJsonObject(found) || found['issuer'] !== issuer) throw new Error(`"${url}" is the document of another issuer`);
  return found;
}

/** Returns a URL from a discovery document. Throws unless it is https, or on this machine. */
export function discoveredUrl(document: JsonObject, name: 'jwks_uri' | 'authorization_endpoint' | 'token_endpoint'): string {
  const url = document[name];
  if (typeof url !== 'string' || !isSafeUrl(url)) throw new Error(`The discovery document of the issuer names no https URL as "${name}"`);
  return url;
}

/** Errors of jose about the token, as opposed to the issuer's keys. */
const ABOUT_THE_TOKEN = new Set(['ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS', 'ERR_JOSE_NOT_SUPPORTED']);

/** Throws `authorization_failed` if the issuer's keys cannot be fetched: the token may be valid. */
function available(issuer: string, keys: JWTVerifyGetKey): JWTVerifyGetKey {
  return async (header, token) => {
    try {
      return await keys(header, token);
    } catch (cause) {
      if (cause instanceof Error && 'code' in cause && ABOUT_THE_TOKEN.has(String(cause.code))) throw cause;
      const message = `The issuer "${issuer}" does not give its keys, so its tokens cannot be verified: try again later`;
      throw new LonghaulError('authorization_failed', message, { cause });
    }
  };
}

/** The largest answer of an issuer: key sets and discovery documents have a few kilobytes. */
const MAX_BYTES = 1_000_000;

/** Fetches a small JSON document. Fails for a body over 1 MB, and does not follow redirects. */
async function boundedFetch(url: string, init: { headers?: Headers; method?: 'GET'; signal: AbortSignal }): Promise<Response> {
  const response = await fetch(url, { ...init, redirect: 'manual' });
  return new Response(await boundedText(response), { status: response.status === 200 ? 200 : 502 });
}

async function boundedText({ body, status }: Response): Promise<string> {
  if (body !== null && status === 200) return smallText(body);
  await body?.cancel();
  return '';
}

/** Reads the body of an issuer's answer. Throws if it is larger than 1 MB. */
export async function smallText(body: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  for await (const chunk of body) {
    bytes += chunk.byteLength;
    if (bytes > MAX_BYTES) throw new Error(`The answer of the issuer is larger than ${MAX_BYTES} bytes`);
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** The allowed signature algorithms. Only asymmetric ones: with others, whoever can verify a token can also make one. */
const JWT_ALGORITHMS = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'] as const;

/** The rights that a token grants. */
export interface JwtRights {
  /** Names the caller. Default: the claim `sub`. */
  id?: string;
  /** The identity on whose behalf the caller acts. `'all'`: it can access all runs of the namespace. */
  principal: Principal | 'all';
  /** What callers with the token may do, such as `runs:read`. */
  scopes: readonly Scope[];
  /** The agents and programs that the caller may start. Absent: all. */
  agents?: readonly string[];
}

/** The options of the verification of JSON Web Tokens. */
export interface JwtOptions {
  /** The required claim `iss`: the issuer's URL. Without `jwksUrl` and `keys`, OpenID Connect Discovery finds its keys. */
  issuer: string;
  /** The required value, or allowed values, of the claim `aud`: the name of this service at the issuer. */
  audience: string | readonly string[];
  /** The URL of the issuer's public keys. */
  jwksUrl?: string;
  /** The issuer's public keys. */
  keys?: JSONWebKeySet;
  /** The allowed algorithms. Default: all of `JWT_ALGORITHMS`. */
  algorithms?: readonly (typeof JWT_ALGORITHMS)[number][];
  /** The seconds by which `nbf` may be ahead of the server's clock: 0 to 60. Default 5. Does not apply to `exp`. */
  clockTolerance?: number;
  /**
   * Returns the rights for the verified claims of a token; undefined refuses it. Default: the claim `sub` is the user, `tenant`
   * or else `org_id` is the tenant, `scope` has the scopes, separated by spaces, and `agents` lists the agents.
   */
  rights?: (claims: JWTPayload) => JwtRights | undefined;
}

/** The minimum size of an RSA key in bits. */
const LEAST_RSA_BITS = 2_048;

/** Throws a UsageError for options that verify too little. */
function checkJwtOptions({ issuer, audience, jwksUrl, keys, algorithms, clockTolerance = 0 }: JwtOptions): void {
  const audiences: readonly unknown[] = typeof audience === 'string' ? [audience] : audience;
  if (typeof issuer !== 'string' || issuer === '') throw new UsageError('jwt: "issuer" is missing: write the value of the claim "iss"');
  if (!Array.isArray(audiences) || audiences.length === 0 || !audiences.every((one) => typeof one === 'string' && one !== ''))
    throw new UsageError('jwt: "audience" is missing: write the name that this service has at the issuer');
  if (jwksUrl !== undefined && keys !== undefined) throw new UsageError('jwt: "jwksUrl" and "keys" exclude each other: give one');
  const unknown = algorithms?.find((name) => !JWT_ALGORITHMS.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`jwt: "${unknown}" is not an asymmetric algorithm: choose from ${JWT_ALGORITHMS.join(', ')}`);
  if (algorithms?.length === 0) throw new UsageError('jwt: "algorithms" is empty: leave it out, or name some');
  if (!(clockTolerance >= 0 && clockTolerance <= 60)) throw new UsageError('jwt: "clockTolerance" is a number of seconds from 0 to 60');
  if (keys === undefined) requireSafeUrl(jwksUrl ?? issuer, jwksUrl === undefined ? 'issuer' : 'jwksUrl');
  else if (!keys.keys.every(({ kty, d }) => kty !== 'oct' && d === undefined))
    throw new UsageError('jwt: "keys" has a private or a symmetric key: give only the public keys of the issuer');
  else {
    const weak = keys.keys.findIndex(({ kty, n }) => kty === 'RSA' && Buffer.from(n ?? '', 'base64url').length * 8 < LEAST_RSA_BITS);
    if (weak !== -1) throw new UsageError(`jwt: key ${weak + 1} of "keys" has fewer than ${LEAST_RSA_BITS} bits: use a longer one`);
  }
}

/** True for a URL that may provide keys and receive secrets: https, or a loopback host. */
export function isSafeUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function requireSafeUrl(url: string, option: string): void {
  if (!isSafeUrl(url)) throw new UsageError(`jwt: "${option}" is "${url}": keys come from an https URL, or give "keys"`);
}
