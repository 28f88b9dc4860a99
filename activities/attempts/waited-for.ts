/** The most entries that are kept. Then all are dropped, with those of runs that have ended. */
const MOST = 10_000;

/** Names that runs have waited for in vain on this worker: waiting again would delay each of their steps. */
export class MissingNames {
  readonly #places = new Set<string>();

  add(place: string): void {
    if (this.#places.size >= MOST) this.#places.clear();
    this.#places.add(place);
  }

  has(place: string): boolean {
    return this.#places.has(place);
  }
}
