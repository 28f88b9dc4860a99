import type { Client } from '@temporalio/client';
import { failEachIfUnreachable, failIfUnreachable } from '../../temporal/server-reachability.ts';
import type { DecidedOn } from '../updates/decided-run.ts';
import type { OwnRuns } from './own-runs.ts';

/** A run as a client reaches it: every request is refused with `run_not_found` if it is the run of another principal. */
export class ReachedRun {
  readonly #client: Client;
  readonly #runId: string;
  readonly #own: OwnRuns | undefined;

  constructor(client: Client, runId: string, own: OwnRuns | undefined) {
    this.#client = client;
    this.#runId = runId;
    this.#own = own;
  }

  /** Does the work. Throws `server_unreachable` if the server does not answer. */
  for<Value>(work: () => Promise<Value>): Promise<Value> {
    return failIfUnreachable(this.#client, async () => {
      await this.#own?.require(this.#runId);
      return work();
    });
  }

  /** Does the work for a decision, which may name a run below. */
  forDecision<Value>(about: DecidedOn, work: () => Promise<Value>): Promise<Value> {
    return this.for(async () => {
      const owner = typeof about === 'string' ? undefined : about.runId;
      if (owner !== undefined) await this.#own?.require(owner);
      return work();
    });
  }

  /** Yields the items. */
  forEach<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
    return failEachIfUnreachable(this.#client, this.#reached(items));
  }

  async *#reached<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
    await this.#own?.require(this.#runId);
    yield* items;
  }
}
