import { UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { type Identity, isSameIdentity } from '../core/domain/run.ts';
import type { Duration } from '../core/domain/time.ts';
import { nonEmpty, type OptionTable, requireKnown } from '../define/option-checks.ts';
import type { MemoryStore } from '../memory/memory-store.ts';
import type { WaitOptions } from '../temporal/waiting.ts';
import type { RunContent } from './delete-run.ts';

/** The user to forget, and the limits of the work. */
export interface ForgetOptions extends WaitOptions {
  /** Default: the client's tenant or user. */
  user?: string;
  /** The tenant of the user. A user without a tenant and one of the same name with a tenant are different users. */
  tenant?: string;
  /**
   * Stores that no worker has. The client must have all others: the references to their content are removed with the runs,
   * so it could not be found later.
   */
  without?: readonly MissingStore[];
  /** The time that cancelled runs have to end before they are terminated. Default 30 seconds. */
  grace?: Duration;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: OptionTable<ForgetOptions> = {
  user: true,
  tenant: true,
  without: true,
  grace: true,
  timeout: true,
  signal: true,
};

/** The stores that workers may have. A sink of live output is one: it keeps the newest texts of each run for a while. */
export const USER_STORES = ['payloadStore', 'archive', 'memory', 'streams'] as const;

/** The stores with parts of what a user has left that last. */
export const EXPORTED_STORES = ['payloadStore', 'archive', 'memory'] as const;

/** A store that no worker has. @useDeclaredType */
export type MissingStore = (typeof USER_STORES)[number];

/** The workers' stores that the client has. */
export interface UserStores extends RunContent {
  memory?: MemoryStore | undefined;
}

/** What `forget` has removed. A call that finishes an interrupted one counts only what was left. */
export interface Forgotten {
  /** The ids of the runs, sessions and programs, with their descendants. */
  runs: string[];
  /** The number of their executions. */
  executions: number;
  /** The number of deleted entries of the memory. */
  memoryEntries: number;
  /**
   * The ids of runs whose spilled results and archives were kept, because another principal has a run with the same id:
   * they are removed with that run.
   */
  kept: string[];
  /** The stores that no worker has, as the caller said. */
  without: MissingStore[];
}

/** A method that concerns everything of a user. */
interface UserCall {
  name: 'forget' | 'exportUser';
  /** The stores that it needs. */
  stores: readonly MissingStore[];
  /** Why it does not concern a whole tenant. */
  notWhole: string;
  /** Why it needs all stores. */
  otherwise: string;
  /** What a refusal says last. */
  nothing: string;
}

export const FORGET_CALL: UserCall = {
  name: 'forget',
  stores: USER_STORES,
  notWhole: 'everything of a whole tenant is not removed at once',
  otherwise: 'without the runs nothing leads to what is in there',
  nothing: 'Nothing was removed',
};

/** Live output is left out: whatever lasts of it is in the record of its run. */
export const EXPORT_CALL: UserCall = {
  name: 'exportUser',
  stores: EXPORTED_STORES,
  notWhole: 'everything of a whole tenant is not exported at once',
  otherwise: 'what is in there would be missing',
  nothing: 'Nothing was exported',
};

/** Returns the user to forget. Throws as `requestedUser`, and a UsageError for unknown options. */
export function forgottenUser(own: Identity | undefined, options: ForgetOptions): Identity & { user: string } {
  requireKnown('"forget"', options, OPTIONS);
  return requestedUser(FORGET_CALL, own, options);
}

/** Returns the user of a call. Throws a UsageError for a missing user, and for one that the client does not act for. */
export function requestedUser(
  { name: call, notWhole }: UserCall,
  own: Identity | undefined,
  options: { user?: string; tenant?: string },
): Identity & { user: string } {
  for (const name of ['user', 'tenant'] as const) if (options[name] !== undefined) nonEmpty(`"${call}": "${name}"`, options[name]);
  const { user = own?.user, tenant = own?.tenant } = options;
  if (user === undefined) throw new UsageError(`"${call}" needs a "user": ${notWhole}`);
  const whom = { user, ...defined({ tenant }) };
  if (own === undefined || isSameIdentity(own, whom)) return whom;
  throw new UsageError(`"${call}" names another user than the client acts for: call it on the client that reaches all runs`);
}

/**
 * Returns the stores that no worker has. Throws a UsageError before anything is done: for a store that the client lacks and `without`
 * does not name, for one that the client has and `without` names, and for an archive or a memory that cannot list what is of a user.
 */
export function missingStores(
  stores: UserStores,
  without: readonly MissingStore[] = [],
  { name: call, stores: needed, otherwise, nothing }: UserCall = FORGET_CALL,
): MissingStore[] {
  const unknown = without.find((name) => !USER_STORES.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`"${call}": "without" names "${unknown}": it takes ${USER_STORES.map((name) => `"${name}"`).join(', ')}`);
  const had = without.find((name) => stores[name] !== undefined);
  if (had !== undefined) throw new UsageError(`"${call}": "without" names "${had}", which the client has: leave it out of one of both`);
  const unnamed = unnamedStores(stores, without, needed);
  if (unnamed.length > 0) {
    throw new UsageError(
      `"${call}": the client has no ${unnamed.map((name) => `"${name}"`).join(' and no ')}, and ${otherwise}: ` +
        `give the client the stores of the workers, or say that they have none by "without": ${JSON.stringify(unnamed)}. ${nothing}`,
    );
  }
  if (stores.archive !== undefined && typeof stores.archive.runsOf !== 'function') {
    throw new UsageError(`"${call}": the archive of the client has no "runsOf", which lists the runs of a user: add it`);
  }
  if (call === 'exportUser' && stores.memory !== undefined && typeof stores.memory.listNamespaces !== 'function') {
    throw new UsageError(`"${call}": the memory of the client has no "listNamespaces", which lists the namespaces of a user: add it`);
  }
  return needed.filter((name) => without.includes(name));
}

/** Returns the stores that the client lacks and the caller does not name. */
export function unnamedStores(
  stores: Partial<Record<MissingStore, unknown>>,
  without: readonly MissingStore[] = [],
  needed: readonly MissingStore[] = USER_STORES,
): MissingStore[] {
  return needed.filter((name) => stores[name] === undefined && !without.includes(name));
}
