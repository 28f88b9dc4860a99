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

/** Returns the user to forget. Throws a UsageError for unknown options, a missing user, and a user that the client does not act for. */
export function forgottenUser(own: Identity | undefined, options: ForgetOptions): Identity & { user: string } {
  requireKnown('"forget"', options, OPTIONS);
  for (const name of ['user', 'tenant'] as const) if (options[name] !== undefined) nonEmpty(`"forget": "${name}"`, options[name]);
  const { user = own?.user, tenant = own?.tenant } = options;
  if (user === undefined) throw new UsageError('"forget" needs a "user": everything of a whole tenant is not removed at once');
  const whom = { user, ...defined({ tenant }) };
  if (own === undefined || isSameIdentity(own, whom)) return whom;
  throw new UsageError('"forget" names another user than the client acts for: call it on the client that reaches all runs');
}

/**
 * Returns the stores that no worker has. Throws a UsageError before anything is removed: for a store that the client lacks and `without`
 * does not name, for one that the client has and `without` names, and for an archive that cannot list the runs of a user.
 */
export function missingStores(stores: UserStores, without: readonly MissingStore[] = []): MissingStore[] {
  const unknown = without.find((name) => !USER_STORES.includes(name));
  if (unknown !== undefined)
    throw new UsageError(`"forget": "without" names "${unknown}": it takes ${USER_STORES.map((name) => `"${name}"`).join(', ')}`);
  const had = without.find((name) => stores[name] !== undefined);
  if (had !== undefined) throw new UsageError(`"forget": "without" names "${had}", which the client has: leave it out of one of both`);
  const unnamed = unnamedStores(stores, without);
  if (unnamed.length > 0) {
    throw new UsageError(
      `"forget": the client has no ${unnamed.map((name) => `"${name}"`).join(' and no ')}, and without the runs nothing leads to what is in there: ` +
        `give the client the stores of the workers, or say that they have none by "without": ${JSON.stringify(unnamed)}. Nothing was removed`,
    );
  }
  if (stores.archive !== undefined && typeof stores.archive.runsOf !== 'function') {
    throw new UsageError('"forget": the archive of the client has no "runsOf", which lists the runs of a user: add it');
  }
  return USER_STORES.filter((name) => without.includes(name));
}

/** Returns the stores that the client lacks and the caller does not name. */
export function unnamedStores(stores: Partial<Record<MissingStore, unknown>>, without: readonly MissingStore[] = []): MissingStore[] {
  return USER_STORES.filter((name) => stores[name] === undefined && !without.includes(name));
}
