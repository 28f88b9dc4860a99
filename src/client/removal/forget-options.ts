import { UsageError } from '../../core/domain/errors/error.ts';
import type { Duration } from '../../core/domain/run/duration.ts';
import { nonEmpty, requireKnown } from '../../define/options/option-checks.ts';
import type { WaitOptions } from '../../temporal/waiting.ts';
import { type Identity, isSame } from '../../core/domain/run/principal.ts';

/** The user to forget, and the limits of the work. */
export interface ForgetOptions extends WaitOptions {
  /** Default: that of the principal of the client. */
  user?: string;
  /** The tenant of the user. A user without a tenant is another one than a user of the same name with one. */
  tenant?: string;
  /** The time that runs which go on have to end by themselves, once they are cancelled, before they are terminated. Default 30 seconds. */
  grace?: Duration;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: Record<keyof ForgetOptions, true> = { user: true, tenant: true, grace: true, timeout: true, signal: true };

/** A store of the workers that a client may lack. */
export type MissingStore = 'payloadStore' | 'archive' | 'memory';

/** The numbers of things that were removed of a user. A call that finishes the work of an interrupted one counts what that one had left. */
export interface Forgotten {
  /** The ids of the runs, sessions and programs, with those below them. */
  runs: string[];
  /** The number of their executions. */
  executions: number;
  memoryEntries: number;
  /** The stores that the client does not have: nothing was removed from these. */
  without: MissingStore[];
}

/** Returns the user to forget. Throws a UsageError for unknown options, without a user, and for another one than the client acts for. */
export function forgottenUser(own: Identity | undefined, options: ForgetOptions): Identity & { user: string } {
  requireKnown('"forget"', options, Object.keys(OPTIONS));
  for (const name of ['user', 'tenant'] as const) if (options[name] !== undefined) nonEmpty(`"forget": "${name}"`, options[name]);
  const { user = own?.user, tenant = own?.tenant } = options;
  if (user === undefined) throw new UsageError('"forget" needs a "user": everything of a whole tenant is not removed at once');
  const whom = { user, ...(tenant === undefined ? {} : { tenant }) };
  if (own === undefined || isSame(own, whom)) return whom;
  throw new UsageError('"forget" names another user than the client acts for: call it on the client that reaches all runs');
}
