import { UsageError } from '../../../src/core/domain/errors.ts';
import type { ProviderMetadata } from './language-model.ts';

/** Which parts of a request a provider is told to cache, and for how long. */
export type CacheOption = 'auto' | 'off' | { ttl: '5m' | '1h' };

/** Returns the option if it is one. Throws a `UsageError`. */
export function checkedCache(cache: CacheOption): CacheOption {
  const ttl = typeof cache === 'object' && cache !== null && Object.keys(cache).join() === 'ttl' ? cache.ttl : undefined;
  if (cache === 'auto' || cache === 'off' || ttl === '5m' || ttl === '1h') return cache;
  throw new UsageError(`aiSdk: "cache" is ${JSON.stringify(cache)}: write "auto", "off", { ttl: "5m" } or { ttl: "1h" }`);
}

/**
 * Returns the options of a message that is the end of a part to be cached; undefined for a provider that caches by itself, or not at all.
 * Anthropic takes four marks: three are set, and one is left to the user.
 */
export function cacheMark(cache: CacheOption, { provider, modelId }: { provider: string; modelId: string }): ProviderMetadata | undefined {
  if (cache === 'off') return undefined;
  const ttl = typeof cache === 'object' ? { ttl: cache.ttl } : {};
  if (provider.startsWith('amazon-bedrock')) {
    return /anthropic|claude|nova/.test(modelId) ? { bedrock: { cachePoint: { type: 'default', ...ttl } } } : undefined;
  }
  return provider.includes('anthropic') ? { anthropic: { cacheControl: { type: 'ephemeral', ...ttl } } } : undefined;
}
