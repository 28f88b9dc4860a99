import { isValid, type ApiKey } from '../../../server/auth/api-keys/api-key.ts';
import { isoTime } from '../../../core/domain/time.ts';

/** Returns a key for machines: without the hash of its secret, and with its times in ISO 8601. */
export function keyJson({ secretHash: _, createdAt, expiresAt, revokedAt, ...key }: ApiKey): object {
  return {
    ...key,
    createdAt: isoTime(createdAt),
    ...(expiresAt === undefined ? {} : { expiresAt: isoTime(expiresAt) }),
    ...(revokedAt === undefined ? {} : { revokedAt: isoTime(revokedAt) }),
  };
}

/** Returns the state of a key: if servers accept it, and why they do not. */
export function keyState(key: Pick<ApiKey, 'expiresAt' | 'revokedAt'>, now: number): 'valid' | 'expired' | 'revoked' {
  if (isValid(key, now)) return 'valid';
  return key.revokedAt === undefined ? 'expired' : 'revoked';
}
