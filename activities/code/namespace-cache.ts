import { LRUCache } from 'lru-cache';
import type { RunKey } from '../run-queries/access.ts';
import type { Namespace } from './namespace.ts';

/** The bounds of a cache of namespaces. */
export interface NamespaceBounds {
  /** The number of namespaces. */
  namespaces: number;
  /** Megabytes (1,048,576 bytes each) of all of them together. */
  megabytes: number;
  /** Milliseconds for which a namespace waits for the results of calls. */
  waitingMs: number;
  /** Milliseconds for which a namespace waits for the next cell: that of a run that has ended is given up after this time. */
  idleMs: number;
}

/** The bounds of a worker that sets none. */
export const DEFAULT_NAMESPACE_BOUNDS: NamespaceBounds = { namespaces: 32, megabytes: 1_024, waitingMs: 60_000, idleMs: 300_000 };

const MEGABYTE = 1_048_576;

interface Kept {
  /** The execution that it belongs to: after a reset, positions repeat with other values. */
  execution: string;
  namespace: Namespace;
}

/**
 * The namespaces of runs whose cells this process has run, each with a live executor. The cache decides how soon a segment can begin,
 * never what it sees: a namespace is given to a segment only if its position is the one that the segment begins at. While a segment
 * runs, its namespace is not in the cache, so that no other attempt can get it.
 */
export class NamespaceCache {
  readonly #kept: LRUCache<string, Kept>;
  readonly #bounds: NamespaceBounds;

  constructor(bounds: Partial<NamespaceBounds> = {}) {
    this.#bounds = { ...DEFAULT_NAMESPACE_BOUNDS, ...bounds };
    this.#kept = new LRUCache({
      max: this.#bounds.namespaces,
      maxSize: this.#bounds.megabytes * MEGABYTE,
      sizeCalculation: ({ namespace }) => Math.max(1, Math.ceil(namespace.bytes)),
      // Its timers do not keep the process alive.
      ttlAutopurge: true,
      ttl: this.#bounds.idleMs,
      dispose: ({ namespace }, _, reason) => {
        if (reason !== 'delete') void namespace.kill();
      },
    });
  }

  /** The number of namespaces. */
  get size(): number {
    return this.#kept.size;
  }

  /** Hands over the namespace of a run if it is at the position; ends one that is at another, and returns undefined. */
  take({ chain, execution }: RunKey, position: string): Namespace | undefined {
    const kept = this.#kept.get(chain);
    if (kept === undefined) return undefined;
    this.#kept.delete(chain);
    if (kept.execution === execution && kept.namespace.position === position) return kept.namespace;
    void kept.namespace.kill();
    return undefined;
  }

  /** Keeps the namespace of a run, in place of one that it has. Ends the least recently used if they are too many. */
  put({ chain, execution }: RunKey, namespace: Namespace): void {
    const kept = { execution, namespace };
    this.#kept.set(chain, kept, { ttl: namespace.isWaiting ? this.#bounds.waitingMs : this.#bounds.idleMs });
    // One that is larger than the whole cache is not kept.
    if (this.#kept.peek(chain) !== kept) void namespace.kill();
  }

  /** Ends all namespaces. */
  async close(): Promise<void> {
    const all = [...this.#kept.values()];
    this.#kept.clear();
    await Promise.all(all.map(({ namespace }) => namespace.kill()));
  }
}
