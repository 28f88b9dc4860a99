import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { type Identity, identityOf, isSameIdentity, type Principal } from '../core/domain/run.ts';
import type { ExecutionBeginning } from '../history/execution-reader.ts';
import { runNotFound } from '../temporal/run-workflow.ts';
import { failEachIfUnreachable, failIfUnreachable } from '../temporal/server-calls.ts';
import type { DecidedOn } from './approvals.ts';
import type { RunFeeds } from './stream/run-feeds.ts';

/**
 * The runs that a client remembers, and the time for which it does, in milliseconds: long enough for the requests that come together, and
 * short because the id of a run that was deleted may be taken by another user.
 */
const REMEMBERED = { max: 1_000, ttl: 5_000 };

/**
 * The access of a client to runs: to all, or to those of its principal alone. The principal of a run never changes, so requests that come
 * together ask for it once.
 */
export class RunAccess {
  readonly #client: Client;
  readonly #identity: Identity | undefined;
  readonly #known = new LRUCache<string, true>(REMEMBERED);

  /** Without an identity, the client reaches all runs. */
  constructor(client: Client, identity: Identity | undefined) {
    this.#client = client;
    this.#identity = identity;
  }

  /** The principal of the runs; undefined if the client reaches all runs. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  /** Returns the access to the runs of a principal: this one if it is to those of a principal already, so that it keeps what it remembers. */
  narrowedTo(principal: Principal | undefined): RunAccess {
    return principal === undefined || this.#identity !== undefined ? this : new RunAccess(this.#client, identityOf(principal));
  }

  /**
   * Throws `run_not_found` for the run of another principal, for a run without a principal, and for an id that does not exist: the three
   * cannot be told apart. The first event of a run has its principal, at once and without a worker: search attributes would lag, and
   * any client could change them.
   */
  async require(runId: string): Promise<void> {
    if (this.#identity === undefined || this.#known.has(runId)) return;
    const { executionBeginning } = await import('../history/execution-reader.ts');
    this.#requireOwn(runId, await executionBeginning(this.#client, runId));
  }

  /** Throws `run_not_found` for a workflow that exists and is no run of the principal: nothing must be sent to it. */
  async requireUnlessAbsent(id: string): Promise<void> {
    if (this.#identity === undefined || this.#known.has(id)) return;
    const { executionBeginning } = await import('../history/execution-reader.ts');
    const beginning = await executionBeginning(this.#client, id);
    if (beginning !== undefined) this.#requireOwn(id, beginning);
  }

  #requireOwn(runId: string, beginning: ExecutionBeginning | undefined): void {
    const isOwn = beginning !== undefined && isSameIdentity(beginning.principal ?? {}, this.#identity ?? {});
    if (!isOwn) throw runNotFound(this.#client, runId);
    this.note(runId);
  }

  /** Notes that a run acts for the principal: it has accepted a message that names it. */
  note(runId: string): void {
    this.#known.set(runId, true);
  }
}

/** The things that a client knows about a run before it asks the server. */
export interface KnownRun {
  /** True if the workflow with its id is known to be a run of an agent. */
  isRun?: boolean;
  /** The access of the client to runs. Default: to all. */
  access?: RunAccess;
  /** The feeds of runs that the client's readers share. */
  feeds?: RunFeeds;
}

/** A run to which a client sends only authorized requests: each is refused with `run_not_found` if the run belongs to another principal. */
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

  /** Does the work for a decision, which may name a descendant. */
  forDecision<Value>(about: DecidedOn, work: () => Promise<Value>): Promise<Value> {
    return this.for(async () => {
      const owner = typeof about === 'string' ? undefined : about.runId;
      if (owner !== undefined) await this.#access?.require(owner);
      return work();
    });
  }

  /** Yields the items. Nothing is done before the first of them is asked for. */
  forEach<Item>(items: () => Promise<AsyncGenerator<Item>>): AsyncGenerator<Item> {
    return failEachIfUnreachable(this.#client, async () => {
      await this.#access?.require(this.#runId);
      return items();
    });
  }
}
