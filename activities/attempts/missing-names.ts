/** The most entries that are kept. Then all are dropped, with those of runs that have ended. */
const MAX_ENTRIES = 10_000;

/** Names that runs have waited for in vain on this worker: waiting again would delay each of their steps. */
export class MissingNames {
  readonly #keys = new Set<string>();

  add(key: string): void {
    if (this.#keys.size >= MAX_ENTRIES) this.#keys.clear();
    this.#keys.add(key);
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }
}
