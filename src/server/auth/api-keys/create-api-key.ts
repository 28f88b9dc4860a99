import type { ApiKey } from './api-key.ts';
import type { ApiKeyStore } from './api-key-store.ts';
import { apiKeyText, newApiKeyParts, secretDigest } from './api-key-text.ts';

/** A key that was created, with the text that its caller sends. The text is nowhere else: it cannot be shown again. */
export interface CreatedApiKey {
  key: ApiKey;
  text: string;
}

/** Creates an API key, and stores it without its secret. */
export async function createApiKey(
  store: ApiKeyStore,
  rights: Omit<ApiKey, 'id' | 'secretHash' | 'createdAt' | 'revokedAt'>,
): Promise<CreatedApiKey> {
  const parts = newApiKeyParts();
  const key: ApiKey = { ...rights, id: parts.id, secretHash: secretDigest(parts.secret).toString('hex'), createdAt: Date.now() };
  await store.put(key);
  return { key, text: apiKeyText(parts) };
}
