/** So many are remembered; those of runs that have ended are forgotten with the rest. */
const MOST = 10_000;

/** What runs have waited for in vain on this worker: waiting for it again would hold up each of their steps. */
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
