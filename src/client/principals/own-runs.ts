import type { Client } from '@temporalio/client';
import { executionBeginning } from '../../history/execution-beginning.ts';
import { runNotFound } from '../../temporal/run-outcome.ts';
import { type Identity, isSame } from './identity.ts';

/**
 * Checks that a run acts for a principal. Its first event says so, at once and without a worker: search attributes would lag, and any
 * client could change them. Throws `run_not_found` for the run of another principal, for a run of none, and for an id that does not
 * exist: the three cannot be told apart.
 */
export async function requireOwnRun(client: Client, runId: string, identity: Identity): Promise<void> {
  const beginning = await executionBeginning(client, runId);
  if (beginning === undefined || !isSame(beginning.principal ?? {}, identity)) throw runNotFound(client, runId);
}

/** The runs that a client reaches: all, or those of its principal. A principal never changes, so each run is checked once. */
export class OwnRuns {
  readonly #client: Client;
  readonly #identity: Identity | undefined;
  readonly #known = new Set<string>();

  /** Without an identity, the client reaches all runs. */
  constructor(client: Client, identity: Identity | undefined) {
    this.#client = client;
    this.#identity = identity;
  }

  /** The principal of the runs; undefined if the client reaches all runs. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  /** Throws `run_not_found` for a run that the client does not reach. */
  async require(runId: string): Promise<void> {
    if (this.#identity === undefined || this.#known.has(runId)) return;
    await requireOwnRun(this.#client, runId, this.#identity);
    this.#known.add(runId);
  }
}
