import { decodeProtectedHeader, errors, type JWTPayload, jwtVerify, SignJWT } from 'jose';
import { z } from 'zod';
import { LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { identityOf } from '../../core/domain/run.ts';
import { type Authenticate, bearerCredentials, type Caller, narrowTo, type Scope } from './caller.ts';

/** The rights that a run token can have. */
export const RUN_TOKEN_SCOPES = ['runs:read', 'approvals:decide'] as const satisfies readonly Scope[];

/** The longest life of a run token, in minutes. */
export const MAX_RUN_TOKEN_MINUTES = 60;

/** The options of run tokens. */
export interface RunTokenOptions {
  /** Secrets of at least 32 bytes: the first one signs, all verify. To rotate, put a new one first and remove the old one an hour later. */
  secrets: readonly string[];
}

/** A request for a run token. */
export interface RunTokenRequest {
  /** The run that the token gives access to. */
  runId: string;
  /** Default 15, at most 60. */
  minutes?: number;
  /** Default: `runs:read`. */
  scopes?: readonly (typeof RUN_TOKEN_SCOPES)[number][];
}

/** A token that gives access to one run. */
export interface RunToken {
  /** The token: a secret. */
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
  name: TEXT.exactOptional(),
  principal: z.union([z.literal('all'), z.strictObject({ tenant: TEXT.exactOptional(), user: TEXT.exactOptional() })]),
  scopes: z.array(z.enum(RUN_TOKEN_SCOPES)),
});

/** Makes and verifies tokens that give access to one run for some minutes. A page may put them into the URL of a stream. */
export class RunTokens {
  readonly #keys: [Uint8Array, ...Uint8Array[]];

  /** Throws a UsageError without a secret, or for a short one. */
  constructor({ secrets }: RunTokenOptions) {
    this.#keys = tokenKeys(secrets);
  }

  /**
   * Makes a token with a subset of the caller's rights, which never outlives the caller's credentials. Throws `forbidden` for rights that
   * the caller lacks, and `invalid_input` for rights that no run token has, and for an invalid time. The server checks first that the
   * caller can access the run.
   */
  async make(caller: Caller, { runId, minutes = 15, scopes = ['runs:read'] }: RunTokenRequest): Promise<RunToken> {
    if (!(minutes > 0 && minutes <= MAX_RUN_TOKEN_MINUTES))
      throw new LonghaulError('invalid_input', `"minutes" is ${minutes}: write a number above 0, and at most ${MAX_RUN_TOKEN_MINUTES}`);
    const other = scopes.find((scope) => !RUN_TOKEN_SCOPES.includes(scope));
    if (other !== undefined)
      throw new LonghaulError('invalid_input', `A run token cannot have the scope "${other}": choose from ${RUN_TOKEN_SCOPES.join(', ')}`);
    const narrowed = narrowTo(caller, { runId, scopes, expiresAt: Date.now() + minutes * 60_000 });
    // The claim is in seconds: rounded up, it would outlive the caller's credentials.
    const exp = Math.floor(narrowed.expiresAt / 1000);
    const principal = caller.principal === 'all' ? caller.principal : identityOf(caller.principal);
    const claims = { run: runId, scopes: narrowed.scopes, ...defined({ name: caller.name }), principal };
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

  /** Verifies `Authorization: Bearer <token>`, and `?token=` for a GET of a stream: a browser's `EventSource` sends no headers. */
  readonly authenticate: Authenticate = async (request) => {
    const token = bearerCredentials(request) ?? tokenInUrl(request);
    if (token === undefined) return undefined;
    for (const key of this.#keys) {
      const claims = await claimsBy(key, token);
      if (claims !== undefined) return callerOfClaims(claims);
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

/** Returns the caller of verified claims; undefined for claims of another release. */
function callerOfClaims(claims: JWTPayload): Caller | undefined {
  const { success, data } = CLAIMS.safeParse(claims);
  if (!success) return undefined;
  const { sub, name, exp, run, principal, scopes } = data;
  return {
    id: sub,
    ...defined({ name }),
    principal,
    scopes,
    agents: [],
    runId: run,
    expiresAt: exp * 1000,
  };
}

/** The `typ` of run tokens. */
const RUN_TOKEN_TYPE = 'longhaul-run+jwt';

/** True for a request with a token for one run, valid or not. */
export function bearsRunToken(request: Request): boolean {
  const bearer = bearerCredentials(request);
  return tokenInUrl(request) !== undefined || (bearer !== undefined && typeOf(bearer) === RUN_TOKEN_TYPE);
}

/** The paths that pages read without headers: streams through an `EventSource`, and generated files as images. */
const URLS_WITH_TOKENS = /\/stream$|\/files\/[\da-f]{64}$/;

/** Returns the token in the URL of a request; undefined if tokens are not allowed there. */
function tokenInUrl({ method, url }: Request): string | undefined {
  if (method !== 'GET') return undefined;
  const { pathname, searchParams } = new URL(url);
  return URLS_WITH_TOKENS.test(pathname) ? (searchParams.get('token') ?? undefined) : undefined;
}

function typeOf(token: string): string | undefined {
  try {
    return decodeProtectedHeader(token).typ;
  } catch {
    return undefined;
  }
}

/** The environment variable with the secrets of run tokens, separated by commas. The first one signs, all verify. */
const TOKEN_SECRET_VARIABLE = 'LONGHAUL_TOKEN_SECRET';

/** HMAC-SHA-256 needs a secret as long as its digest. */
const LEAST_BYTES = 32;

/** Returns the secrets in the environment; undefined if there are none. Throws a UsageError for a short one, without quoting it. */
export function environmentTokenSecrets(env: NodeJS.ProcessEnv): string[] | undefined {
  const text = env[TOKEN_SECRET_VARIABLE]?.trim();
  if (text === undefined || text === '') return undefined;
  const secrets = text.split(',').map((secret) => secret.trim());
  tokenKeys(secrets);
  return secrets;
}

/** Returns the secrets as keys. Throws a UsageError if there are none or one is short, without quoting it. */
function tokenKeys(secrets: readonly string[]): [Uint8Array, ...Uint8Array[]] {
  const [first, ...others] = secrets.map((secret, index) => keyOfSecret(secret, index + 1));
  if (first !== undefined) return [first, ...others];
  throw new UsageError(`Run tokens need a secret: give "secrets", or set ${TOKEN_SECRET_VARIABLE}`);
}

function keyOfSecret(secret: unknown, position: number): Uint8Array {
  const key = new TextEncoder().encode(typeof secret === 'string' ? secret : '');
  if (key.length >= LEAST_BYTES) return key;
  const hint = '"openssl rand -base64 32" prints one';
  throw new UsageError(`Secret ${position} of run tokens has ${key.length} bytes, fewer than ${LEAST_BYTES}: ${hint}`);
}

/**
 * Returns a URL, whole or from its path on, without the parameter `token`: for logs. Everything else is unchanged, even if the
 * URL cannot be parsed.
 */
export function withoutToken(url: string): string {
  const [, path = '', query = '', fragment = ''] = /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(url) ?? [];
  return path + withoutParameter(query) + withoutParameter(fragment);
}

/** Removes the parameter from a text that begins with `?` or `#`, and this mark if nothing else is left. */
function withoutParameter(text: string): string {
  const parameters = text.slice(1).split('&');
  const kept = parameters.filter((parameter) => !isToken(parameter));
  if (kept.length === parameters.length) return text;
  return kept.length === 0 ? '' : text.charAt(0) + kept.join('&');
}

/** True for `token=…`, also if the name is percent-encoded. */
function isToken(parameter: string): boolean {
  const [name = ''] = parameter.split('=');
  return decodedParameter(name).trim().toLowerCase() === 'token';
}

function decodedParameter(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}
