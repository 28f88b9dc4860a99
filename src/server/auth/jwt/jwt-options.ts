import type { JSONWebKeySet, JWTPayload } from 'jose';
import { UsageError } from '../../../core/domain/errors/error.ts';
import type { Principal } from '../../../core/domain/run/principal.ts';
import { isLoopback } from '../loopback.ts';
import type { Scope } from '../caller.ts';

/** The algorithms that tokens may be signed with: asymmetric ones alone, because with the others who can verify a token can also make one. */
export const JWT_ALGORITHMS = [
  'RS256',
  'RS384',
  'RS512',
  'PS256',
  'PS384',
  'PS512',
  'ES256',
  'ES384',
  'ES512',
  'EdDSA',
  'Ed25519',
] as const;

/** One of the allowed algorithms. */
export type JwtAlgorithm = (typeof JWT_ALGORITHMS)[number];

/** The rights that the claims of a token stand for. */
export interface JwtRights {
  /** Names the caller. Default: the claim `sub`. */
  id?: string;
  /** Whom the caller acts for. Absent: it reaches all runs of the namespace. */
  principal?: Principal;
  scopes: readonly Scope[];
  /** The agents and programs that the caller may start. Absent: all. */
  agents?: readonly string[];
}

/** The options of the verification of JSON Web Tokens. */
export interface JwtOptions {
  /** The value that the claim `iss` must have: the URL of the issuer. Without `jwksUrl` and `keys`, it is asked for the URL of its keys (OpenID Connect Discovery). */
  issuer: string;
  /** The value, or one of the values, that the claim `aud` must have: the name of this service at the issuer. */
  audience: string | readonly string[];
  /** The URL of the issuer's public keys. */
  jwksUrl?: string;
  /** The issuer's public keys themselves. */
  keys?: JSONWebKeySet;
  /** The allowed algorithms. Default: all of `JWT_ALGORITHMS`. */
  algorithms?: readonly JwtAlgorithm[];
  /** The seconds by which the claim `nbf` may be ahead of the clock of the server: 0 to 60. Default 5. The end, `exp`, is exact. */
  clockTolerance?: number;
  /**
   * Returns the rights that the verified claims of a token stand for; undefined refuses it. Default: the claim `sub` is the user, `tenant`,
   * else `org_id`, the tenant, `scope` has the scopes, separated by spaces, and `agents` lists the agents.
   */
  rights?: (claims: JWTPayload) => JwtRights | undefined;
}

/** The least bits of a key of RSA. */
const LEAST_RSA_BITS = 2_048;

/** Throws a UsageError for options that would verify too little. */
export function checkJwtOptions({ issuer, audience, jwksUrl, keys, algorithms, clockTolerance = 0 }: JwtOptions): void {
  const audiences: readonly unknown[] = typeof audience === 'string' ? [audience] : audience;
  if (typeof issuer !== 'string' || issuer === '') throw new UsageError('jwt: "issuer" is missing: write the value of the claim "iss"');
  if (!Array.isArray(audiences) || audiences.length === 0 || !audiences.every((one) => typeof one === 'string' && one !== ''))
    throw new UsageError('jwt: "audience" is missing: write the name that this service has at the issuer');
  if (jwksUrl !== undefined && keys !== undefined) throw new UsageError('jwt: "jwksUrl" and "keys" exclude each other: give one');
  const unknown = algorithms?.find((name) => !JWT_ALGORITHMS.includes(name));
  if (unknown !== undefined) throw new UsageError(`jwt: "${unknown}" is no asymmetric algorithm: choose from ${JWT_ALGORITHMS.join(', ')}`);
  if (algorithms?.length === 0) throw new UsageError('jwt: "algorithms" is empty: leave it out, or name some');
  if (!(clockTolerance >= 0 && clockTolerance <= 60)) throw new UsageError('jwt: "clockTolerance" is a number of seconds from 0 to 60');
  if (keys === undefined) requireSafeUrl(jwksUrl ?? issuer, jwksUrl === undefined ? 'issuer' : 'jwksUrl');
  else if (!keys.keys.every(({ kty, d }) => kty !== 'oct' && d === undefined))
    throw new UsageError('jwt: "keys" has a private or a symmetric key: give the public keys of the issuer alone');
  else {
    const weak = keys.keys.findIndex(({ kty, n }) => kty === 'RSA' && Buffer.from(n ?? '', 'base64url').length * 8 < LEAST_RSA_BITS);
    if (weak !== -1) throw new UsageError(`jwt: key ${weak + 1} of "keys" has fewer than ${LEAST_RSA_BITS} bits: use a longer one`);
  }
}

/** True for a URL that keys may come from: https, or a host that only this machine reaches. */
export function isSafeUrl(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  return protocol === 'https:' || (protocol === 'http:' && isLoopback(hostname));
}

function requireSafeUrl(url: string, option: string): void {
  if (!isSafeUrl(url)) throw new UsageError(`jwt: "${option}" is "${url}": keys come from an https URL, or give "keys"`);
}
