import { createLocalJWKSet, createRemoteJWKSet, customFetch, type JWTVerifyGetKey } from 'jose';
import { LonghaulError } from '../../../core/domain/errors/error.ts';
import { isJsonObject } from '../../../core/domain/json/json.ts';
import { boundedFetch } from './bounded-fetch.ts';
import { isSafeUrl, type JwtOptions } from './jwt-options.ts';

/** The time that an issuer has for an answer. */
const TIMEOUT_MS = 5_000;

/** Returns the keys of an issuer: those that were given, or those at its URL, which are kept for ten minutes. */
export function issuerKeys({ issuer, jwksUrl, keys }: Pick<JwtOptions, 'issuer' | 'jwksUrl' | 'keys'>): JWTVerifyGetKey {
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
  const url = `${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`;
  const response = await boundedFetch(url, { signal: AbortSignal.timeout(TIMEOUT_MS) });
  if (response.status !== 200) throw new Error(`"${url}" does not answer with 200`);
  const found: unknown = await response.json();
  const { issuer: named, jwks_uri: jwksUrl } = isJsonObject(found) ? found : {};
  if (named !== issuer) throw new Error(`"${url}" is the document of another issuer`);
  if (typeof jwksUrl !== 'string' || !isSafeUrl(jwksUrl)) throw new Error(`"${url}" names no https URL of keys`);
  return jwksUrl;
}

/** Errors of jose that are about the token, and not about the keys of the issuer. */
const ABOUT_THE_TOKEN = new Set(['ERR_JWKS_NO_MATCHING_KEY', 'ERR_JWKS_MULTIPLE_MATCHING_KEYS', 'ERR_JOSE_NOT_SUPPORTED']);

/** Throws `authorization_failed` if the issuer does not give its keys: then the token may be a good one. */
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
