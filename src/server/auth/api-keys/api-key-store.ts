import type { ApiKey } from './api-key.ts';

/** Keeps API keys, without their secrets. Servers ask it for each request that bears a key, so that a revocation holds at once. */
export interface ApiKeyStore {
  /** Resolves with the key of that id, also if it has expired or is revoked; with undefined if there is none. Rejects if it cannot tell. */
  get(id: string): Promise<ApiKey | undefined>;
  /** Resolves with all keys, in the order of their creation. */
  list(): Promise<readonly ApiKey[]>;
  /** Stores a key under its id, in place of one with the same id. */
  put(key: ApiKey): Promise<void>;
  /** Notes that a key is revoked since `at`, unless it is already. Resolves with false if there is no key of that id. */
  revoke(id: string, at: number): Promise<boolean>;
}
