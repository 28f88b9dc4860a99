import { LRUCache } from 'lru-cache';
import type { Principal } from '../../src/core/domain/run/principal.ts';
import type { OfRun } from '../../src/core/protocol.ts';
import { runKey } from './access.ts';

/** The principals that a worker keeps. */
const MOST_PRINCIPALS = 10_000;

/**
 * Keeps the principals of runs, so that a worker asks each run for it once. They are kept by the execution and not by the id of the run:
 * another run of that id may have another principal.
 */
export class PrincipalCache {
  readonly #principals = new LRUCache<string, { principal: Principal | undefined }>({ max: MOST_PRINCIPALS });

  /** Returns the principal of the run that the current activity belongs to, and asks the run for it if it is not known. */
  async of(run: OfRun, ask: () => Promise<Principal | undefined>): Promise<Principal | undefined> {
    const { execution } = runKey(run);
    const known = this.#principals.get(execution) ?? { principal: await ask() };
    this.#principals.set(execution, known);
    return known.principal;
  }
}
