import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { LonghaulError } from '../core/domain/errors.ts';
import { type Identity, identityOf, isSameIdentity, type Principal } from '../core/domain/run.ts';
import type { ExecutionBeginning } from '../history/execution-reader.ts';
import { runNotFound } from '../temporal/run-workflow.ts';
import { failEachIfUnreachable, failIfUnreachable } from '../temporal/server-calls.ts';
import type { DecidedOn } from './approvals.ts';
import type { RunFeeds } from './stream/run-feeds.ts';

/**
 * Bounds of a client's cache of runs, in milliseconds: long enough for requests that come together, and short because another user
 * may take the id of a deleted run.
 */
const REMEMBERED = { max: 1_000, ttl: 5_000 };

/**
 * A client's access to runs: all, or only those of its principal. The principal of a run never changes, so requests that come
 * together look it up once.
 */
export class RunAccess {
  readonly #client: Client;
  readonly #identity: Identity | undefined;
  readonly #known = new LRUCache<string, true>(REMEMBERED);

  /** Without an identity, the client can access all runs. */
  constructor(client: Client, identity: Identity | undefined) {
    this.#client = client;
    this.#identity = identity;
  }

  /** The principal of the runs; undefined if the client can access all runs. */
  get identity(): Identity | undefined {
    return this.#identity;
  }

  /** Returns the access to the runs of a principal. If this one is already restricted to a principal, returns it with its cache. */
  narrowedTo(principal: Principal | undefined): RunAccess {
    return principal === undefined || this.#identity !== undefined ? this : new RunAccess(this.#client, identityOf(principal));
  }

  /**
   * Throws `run_not_found` for another principal's run, for a run without a principal, and for an id that does not exist: the three
   * cannot be distinguished. The first event of a run holds its principal, at once and without a worker: search attributes would lag, and
   * any client could change them.
   */
  async require(runId: string): Promise<void> {
    if (this.#identity === undefined || this.#known.has(runId)) return;
    const { executionBeginning } = await import('../history/execution-reader.ts');
    const beginning = await executionBeginning(this.#client, runId);
    if (beginning === undefined || !this.#isOwn(beginning)) throw runNotFound(this.#client, runId);
    this.note(runId);
  }

  /**
   * Throws `run_exists` for a workflow that exists and is not a run of the principal: nothing must be sent to it, and no session of the
   * principal can begin under its id.
   */
  async requireUnlessAbsent(id: string): Promise<void> {
    if (this.#identity === undefined || this.#known.has(id)) return;
    const { executionBeginning } = await import('../history/execution-reader.ts');
    const beginning = await executionBeginning(this.#client, id);
    if (beginning === undefined) return;
    if (!this.#isOwn(beginning)) throw new LonghaulError('run_exists', `Session "${id}" exists already: choose another id`);
    this.note(id);
  }

  #isOwn(beginning: ExecutionBeginning): boolean {
    return isSameIdentity(beginning.principal ?? {}, this.#identity ?? {});
  }

  /** Records that a run acts for the principal: it has accepted a message that names it. */
  note(runId: string): void {
    this.#known.set(runId, true);
  }
}

/** What a client knows about a run before it asks the server. */
export interface KnownRun {
  /** True if the workflow with its id is known to be a run of an agent. */
  isRun?: boolean;
  /** The client's access to runs. Default: all runs. */
  access?: RunAccess;
  /** The feeds of runs that the client's readers share. */
  feeds?: RunFeeds;
}

/** A run whose requests are authorized first: each throws `run_not_found` if the run belongs to another principal. */
export class AuthorizedRun {
  readonly #client: Client;
  readonly #runId: string;
  readonly #access: RunAccess | undefined;

  constructor(client: Client, runId: string, access: RunAccess | undefined) {
    this.#client = client;
    this.#runId = runId;
    this.#access = access;
  }

  /** The client's access to runs. Undefined: all runs. */
  get access(): RunAccess | undefined {
    return this.#access;
  }

  /** Does the work. Throws `server_unreachable` if the server does not answer. */
  for<Value>(work: () => Promise<Value>): Promise<Value> {
    return failIfUnreachable(this.#client, async () => {
      await this.#access?.require(this.#runId);
      return work();
    });
  }

  /** Does the work for a decision, which may concern a descendant. */
  forDecision<Value>(about: DecidedOn, work: () => Promise<Value>): Promise<Value> {
    return this.for(async () => {
      const owner = typeof about === 'string' ? undefined : about.runId;
      if (owner !== undefined) await this.#access?.require(owner);
      return work();
    });
  }

  /** Yields the items. Does nothing before the first one is requested. */
  forEach<Item>(items: () => Promise<AsyncGenerator<Item>>): AsyncGenerator<Item> {
    return failEachIfUnreachable(this.#client, async () => {
      await this.#access?.require(this.#runId);
      return items();
    });
  }
}
