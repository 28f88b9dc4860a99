import { errorCode, errorMessage, memberOf } from '../../src/core/domain/errors.ts';
import { counted } from '../../src/core/domain/text.ts';
import type { MemoryStore } from '../../src/memory/memory-store.ts';
import type { ArchiveSink } from '../../src/stores/file-archive.ts';
import type { PayloadStore } from '../../src/stores/payload-store.ts';

/** The stores of a worker that keep data of runs, by the names of the options of the worker. */
export interface WorkerStores {
  payloadStore?: PayloadStore;
  archive?: ArchiveSink;
  memory?: MemoryStore;
}

type StoreName = keyof WorkerStores;

/** The health of a store. `failed`: the last access of one kind, such as a write, has failed. */
export interface StoreHealth {
  /** Whether the store has done what was last asked of it. */
  readonly state: 'working' | 'failed';
  /** What has failed, and why. */
  readonly message?: string;
}

/** The health of the stores of a worker, by the name of the option. */
export type WorkerStoresHealth = Readonly<Partial<Record<StoreName, StoreHealth>>>;

/** What fails in the meantime, for people who read the log. */
const MEANWHILE: Record<StoreName, string> = {
  payloadStore: 'results that it is to keep are cut, and files are missing',
  archive: 'runs wait for it before they end, and may end without being archived',
  memory: 'agents recall and remember nothing',
};

/** The names of the stores in sentences. */
const WORDS: Record<StoreName, string> = { payloadStore: 'payload store', archive: 'archive', memory: 'memory' };

/** The least time between two lines about one store, in milliseconds. */
const LINE_EVERY_MS = 60_000;

/** Errors about the content that was asked for, not about the store. */
const ABOUT_CONTENT: ReadonlySet<string | undefined> = new Set(['spilled_unavailable', 'spilled_not_found', 'invalid_input']);

/** True if the call was given up by its caller, which says nothing about the store. */
function isGivenUp(error: unknown): boolean {
  return ['AbortError', 'CancelledFailure'].includes(String(memberOf(error, 'name')));
}

/** The parts of a worker that learn of failing stores. */
interface WatchOptions {
  /** Logs a warning. */
  log: (line: string) => void;
  /** Counts a failure. */
  failed: (store: StoreName) => void;
  /** A clock in milliseconds. Default `performance.now`. */
  now?: () => number;
}

/**
 * Notices failing stores of a worker: runs mostly go on without them, with less, so nobody would learn that a disk is full. Logs a line about
 * a store at most once a minute, counts each failure, and tells the health.
 */
export class StoreWatch {
  readonly #options: Required<WatchOptions>;
  readonly #known = new Map<StoreName, WatchedStore>();

  constructor(options: WatchOptions) {
    this.#options = { now: () => performance.now(), ...options };
  }

  /** Returns the same stores, watched. */
  watched({ payloadStore, archive, memory }: WorkerStores): WorkerStores {
    return {
      ...(payloadStore === undefined ? {} : { payloadStore: this.#watch('payloadStore', payloadStore, ['store', 'retrieve']) }),
      ...(archive === undefined ? {} : { archive: this.#watch('archive', archive, ['append', 'read']) }),
      ...(memory === undefined ? {} : { memory: this.#watch('memory', memory, ['remember', 'recall', 'list']) }),
    };
  }

  /** Returns the health of each store of the worker, by the name of its option. */
  health(): WorkerStoresHealth {
    return Object.fromEntries([...this.#known].map(([name, { failing }]) => [name, healthOf([...failing.values()])]));
  }

  #watch<Store extends object>(name: StoreName, store: Store, methods: readonly (keyof Store & string)[]): Store {
    const one: WatchedStore = { failing: new Map(), unsaid: 0, saidAt: -Infinity };
    this.#known.set(name, one);
    return new Proxy(store, {
      get: (target, member) => {
        const value: unknown = Reflect.get(target, member, target);
        if (typeof value !== 'function') return value;
        const call = (...args: unknown[]): unknown => Reflect.apply(value, target, args);
        if (!methods.some((method) => method === member)) return call;
        return async (...args: unknown[]): Promise<unknown> => {
          try {
            const result = await call(...args);
            one.failing.delete(String(member));
            return result;
          } catch (error) {
            if (!ABOUT_CONTENT.has(errorCode(error)) && !isGivenUp(error)) this.#failed(name, one, String(member), error);
            throw error;
          }
        };
      },
    });
  }

  #failed(name: StoreName, one: WatchedStore, method: string, error: unknown): void {
    const message = `"${method}" has failed: ${errorMessage(error)}`;
    one.failing.set(method, message);
    this.#options.failed(name);
    const now = this.#options.now();
    if (now - one.saidAt < LINE_EVERY_MS) {
      one.unsaid += 1;
      return;
    }
    const more = one.unsaid === 0 ? '' : `, and ${counted(one.unsaid, 'more failure')} since the last line`;
    this.#options.log(`The ${WORDS[name]} of this worker fails: ${message}${more}. Meanwhile ${MEANWHILE[name]}`);
    one.unsaid = 0;
    one.saidAt = now;
  }
}

/** A store, and the methods whose last call has failed. */
interface WatchedStore {
  failing: Map<string, string>;
  /** The failures since the last line. */
  unsaid: number;
  saidAt: number;
}

function healthOf([message]: readonly string[]): StoreHealth {
  return message === undefined ? { state: 'working' } : { state: 'failed', message };
}
