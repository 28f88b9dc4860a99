import type { Client } from '@temporalio/client';
import { failEachIfUnreachable, failIfUnreachable } from '../../temporal/server-reachability.ts';
import type { DecidedOn } from '../updates/decided-run.ts';
import type { RunFeeds } from '../stream/run-feeds.ts';
import type { RunAccess } from './run-access.ts';

/** The things that a client knows about a run before it asks the server. */
export interface KnownRun {
  /** True if the workflow with its id is known to be a run of an agent. */
  isRun?: boolean;
  /** The access of the client to runs. Default: to all. */
  access?: RunAccess;
  /** The feeds of runs that the client's readers share. */
  feeds?: RunFeeds;
}

/** A run to which a client sends only authorized requests: each is refused with `run_not_found` if the run is that of another principal. */
export class AuthorizedRun {
  readonly #client: Client;
  readonly #runId: string;
  readonly #access: RunAccess | undefined;

  constructor(client: Client, runId: string, access: RunAccess | undefined) {
    this.#client = client;
    this.#runId = runId;
    this.#access = access;
  }

  /** Does the work. Throws `server_unreachable` if the server does not answer. */
  for<Value>(work: () => Promise<Value>): Promise<Value> {
    return failIfUnreachable(this.#client, async () => {
      await this.#access?.require(this.#runId);
      return work();
    });
  }

  /** Does the work for a decision, which may name a run below. */
  forDecision<Value>(about: DecidedOn, work: () => Promise<Value>): Promise<Value> {
    return this.for(async () => {
      const owner = typeof about === 'string' ? undefined : about.runId;
      if (owner !== undefined) await this.#access?.require(owner);
      return work();
    });
  }

  /** Yields the items. */
  forEach<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
    return failEachIfUnreachable(this.#client, this.#allowed(items));
  }

  async *#allowed<Item>(items: AsyncGenerator<Item>): AsyncGenerator<Item> {
    await this.#access?.require(this.#runId);
    yield* items;
  }
}
