import type { Anchor } from '../../src/anchors/anchor.ts';
import { BUILT_IN_ANCHORS } from '../../src/anchors/built-in-anchors.ts';
import { LonghaulError, UsageError } from '../../src/core/domain/errors/error.ts';

/** The anchors of a worker by name: those of the product, and its own. */
export class AnchorRegistry {
  readonly #anchors = new Map<string, Anchor>(BUILT_IN_ANCHORS.map((anchor) => [anchor.name, anchor]));

  /** Throws a UsageError for two anchors of one name. */
  constructor(own: readonly Anchor[]) {
    for (const anchor of own) {
      if (this.#anchors.has(anchor.name)) throw new UsageError(`two anchors are named "${anchor.name}": give each its own name`);
      this.#anchors.set(anchor.name, anchor);
    }
  }

  get names(): string[] {
    return [...this.#anchors.keys()];
  }

  /** Returns anchors in the order of their names. A lenient program ignores unknown ones; otherwise throws `invalid_program`. */
  named(names: readonly string[], { lenient }: { lenient: boolean }): Anchor[] {
    return names.flatMap((name) => {
      const anchor = this.#anchors.get(name);
      if (anchor !== undefined) return [anchor];
      if (lenient) return [];
      throw new LonghaulError('invalid_program', `No anchor "${name}" is registered in this worker (it has: ${this.names.join(', ')})`);
    });
  }
}
