import { UsageError } from '../../../core/domain/errors.ts';

/** The environment variable with the secrets of run tokens, separated by commas. The first one signs, and all verify. */
export const TOKEN_SECRET_VARIABLE = 'LONGHAUL_TOKEN_SECRET';

/** HMAC-SHA-256 needs a secret of the length of its digest. */
const LEAST_BYTES = 32;

/** Returns the secrets of an environment; undefined if it has none. Throws a UsageError, without any part of a secret, for a short one. */
export function environmentTokenSecrets(env: NodeJS.ProcessEnv): string[] | undefined {
  const text = env[TOKEN_SECRET_VARIABLE]?.trim();
  if (text === undefined || text === '') return undefined;
  const secrets = text.split(',').map((secret) => secret.trim());
  tokenKeys(secrets);
  return secrets;
}

/** Returns the keys of secrets. Throws a UsageError, without any part of a secret, if there is none or a short one. */
export function tokenKeys(secrets: readonly string[]): [Uint8Array, ...Uint8Array[]] {
  const [first, ...others] = secrets.map((secret, index) => keyOf(secret, index + 1));
  if (first !== undefined) return [first, ...others];
  throw new UsageError(`Run tokens need a secret: give "secrets", or set ${TOKEN_SECRET_VARIABLE}`);
}

function keyOf(secret: unknown, position: number): Uint8Array {
  const key = new TextEncoder().encode(typeof secret === 'string' ? secret : '');
  if (key.length >= LEAST_BYTES) return key;
  const hint = '"openssl rand -base64 32" prints one';
  throw new UsageError(`Secret ${position} of run tokens has ${key.length} bytes, fewer than ${LEAST_BYTES}: ${hint}`);
}
