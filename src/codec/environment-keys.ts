import { UsageError } from '../core/domain/errors.ts';
import type { EncryptionOptions } from './codec-options.ts';

/** The environment variable with the keys: `id:base64,id2:base64`. The first one is the active key. */
export const KEYS_VARIABLE = 'LONGHAUL_ENCRYPTION_KEYS';

const KEY_BYTES = 32;
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

/**
 * Returns the keys of an environment; undefined if it has none. Throws a UsageError, without any part of a key, if
 * they cannot be read.
 */
export function environmentKeys(env: NodeJS.ProcessEnv): EncryptionOptions | undefined {
  const text = env[KEYS_VARIABLE]?.trim();
  if (text === undefined || text === '') return undefined;
  const entries = text.split(',').map((entry, index) => keyEntry(entry.trim(), index + 1));
  const ids = entries.map(([keyId]) => keyId);
  const twice = ids.find((keyId, index) => ids.indexOf(keyId) !== index);
  if (twice !== undefined) throw new UsageError(`${KEYS_VARIABLE} has two keys "${twice}": give each its own id`);
  return { activeKeyId: ids[0] ?? '', keys: Object.fromEntries(entries) };
}

function keyEntry(entry: string, position: number): [string, Uint8Array] {
  const colon = entry.indexOf(':');
  // An entry without a colon may be the key itself, so the message does not repeat it.
  if (colon < 1) throw new UsageError(`Entry ${position} of ${KEYS_VARIABLE} has no key id: write id:base64, separated by commas`);
  const keyId = entry.slice(0, colon);
  const encoded = entry.slice(colon + 1);
  const key = BASE64.test(encoded) ? Uint8Array.from(Buffer.from(encoded, 'base64')) : new Uint8Array();
  if (key.length === KEY_BYTES) return [keyId, key];
  throw new UsageError(
    `The key "${keyId}" in ${KEYS_VARIABLE} is not ${KEY_BYTES} bytes in base64: "openssl rand -base64 ${KEY_BYTES}" prints one`,
  );
}
