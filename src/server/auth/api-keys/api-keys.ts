import { randomBytes, timingSafeEqual } from 'node:crypto';
import { bearerCredentials } from '../bearer-credentials.ts';
import type { Authenticate, Caller } from '../caller.ts';
import { callerOf, isValid } from './api-key.ts';
import type { ApiKeyStore } from './api-key-store.ts';
import { parseApiKey, secretDigest } from './api-key-text.ts';

const DIGEST_BYTES = 32;

/** The digest that stands in for that of an unknown key. No secret has it. */
const NO_SECRET = randomBytes(DIGEST_BYTES);

/** Verifies `Authorization: Bearer lh_<id>_<secret>` by the keys of a store. An unknown id takes the same work as a wrong secret. */
export function apiKeys(store: ApiKeyStore): Authenticate {
  return async (request): Promise<Caller | undefined> => {
    const parts = parseApiKey(bearerCredentials(request) ?? '');
    if (parts === undefined) return undefined;
    const key = await store.get(parts.id);
    const isSecret = timingSafeEqual(secretDigest(parts.secret), storedDigest(key?.secretHash));
    return key !== undefined && isSecret && isValid(key, Date.now()) ? callerOf(key) : undefined;
  };
}

/** Returns the digest of a stored key. A broken one, which would have another length, fits no secret. */
function storedDigest(hash: string | undefined): Buffer {
  const digest = Buffer.from(hash ?? '', 'hex');
  return digest.length === DIGEST_BYTES ? digest : NO_SECRET;
}
