import { createHash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { ConversationEvent, ModelRequest } from '../../src/core/domain/model.ts';
import type { UsageStats } from '../../src/core/domain/usage.ts';

/** A part of a request, which a provider caches together with all earlier parts. */
interface Part {
  name: string;
  digest: string;
}

/** The last request of an agent to a model, and the tokens of it that the provider has cached. */
interface SentRequest {
  parts: readonly Part[];
  tokens: number;
}

/** The maximum number of remembered requests, with a few bytes for each of their parts. */
const MOST_REQUESTS = 1_000;

/**
 * Remembers this process's requests to providers that cache, to say which part of a request changed when a provider does not find its
 * cached prompt. No decision depends on it, and other processes do not have it.
 */
export class SentRequests {
  readonly #last = new LRUCache<string, SentRequest>({ max: MOST_REQUESTS });
  /** Events keep their content as long as they are in the window. */
  readonly #digests = new WeakMap<ConversationEvent['content'], string>();

  /**
   * Remembers a request that was answered with some usage. Returns the first part that differs from the previous request; null if none
   * does. Undefined if the provider read at least half of its cached tokens, or if that is unknown. `key`: the same for all requests that
   * share a cache.
   */
  answered(key: string, request: ModelRequest, usage: UsageStats | null): { changedPart?: string | null } {
    const { cachedTokens = 0, cacheWriteTokens = 0 } = usage ?? {};
    const before = this.#last.get(key);
    const tokens = cachedTokens + cacheWriteTokens;
    if (tokens === 0 && before === undefined) return {};
    const parts = this.#partsOf(request);
    this.#last.set(key, { parts, tokens });
    return before === undefined || cachedTokens * 2 >= before.tokens ? {} : { changedPart: changedPart(before.parts, parts) };
  }

  /** Returns the parts in the order in which providers cache them. */
  #partsOf({ tools, hosted = [], instructions, conversation, settings, output }: ModelRequest): Part[] {
    return [
      ...tools.map((tool) => ({ name: `tool "${tool.name}"`, digest: digestOf(tool) })),
      ...hosted.map((tool) => ({ name: `tool "${tool.id}"`, digest: digestOf(tool) })),
      { name: '"output"', digest: digestOf(output) },
      ...instructions.map((text, index) => ({ name: `instruction ${index + 1}`, digest: digestOf(text) })),
      { name: '"settings"', digest: digestOf(settings) },
      ...conversation.map((event, index) => ({ name: `event ${index + 1} of the conversation`, digest: this.#digestOf(event) })),
    ];
  }

  #digestOf({ content, providerItems = [], lostItems }: ConversationEvent): string {
    const known = this.#digests.get(content) ?? digestOf(content);
    this.#digests.set(content, known);
    return `${known} ${providerItems.length} ${lostItems}`;
  }
}

function digestOf(value: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64url')
    .slice(0, 12);
}

/** Returns the name of the first part that differs; null if all earlier parts are unchanged, even if more follow. */
function changedPart(before: readonly Part[], now: readonly Part[]): string | null {
  const index = before.findIndex(({ digest }, at) => now[at]?.digest !== digest);
  const [was, is] = [before[index], now[index]];
  if (was === undefined) return null;
  // If a part was removed, the next one is in its place.
  return is === undefined || before.some(({ name }) => name === is.name) ? was.name : is.name;
}
