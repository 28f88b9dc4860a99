import type { ApiKey, ApiKeyStore } from '../../../src/server/auth/api-keys.ts';

/** A store of API keys in memory. */
export function memoryApiKeys(): ApiKeyStore {
  const keys = new Map<string, ApiKey>();
  return {
    get: (id) => Promise.resolve(keys.get(id)),
    list: () => Promise.resolve([...keys.values()]),
    put: (key) => Promise.resolve(void keys.set(key.id, key)),
    revoke: (id, revokedAt) => {
      const key = keys.get(id);
      if (key !== undefined) keys.set(id, { ...key, revokedAt });
      return Promise.resolve(key !== undefined);
    },
  };
}
