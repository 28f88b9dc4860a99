import type { Identity } from '../core/domain/run.ts';
import { type OptionTable, requireKnown } from '../define/option-checks.ts';
import { EXPORT_CALL, type MissingStore, requestedUser } from './forget-options.ts';

/** A run of a user: the executions that lead to one, oldest first, of those that the server has under its id. */
export interface UserRun {
  /** The id of the run. */
  runId: string;
  /** Its newest execution. Absent if only the archive has the run. */
  lastExecutionId?: string;
  /** False for executions that the newest one of the id does not continue: an earlier run with the same id, or what a reset has replaced. */
  isNewest: boolean;
}

/** The user whose data is exported. */
export interface ExportUserOptions {
  /** Default: the client's tenant or user. */
  user?: string;
  /** The tenant of the user. A user without a tenant and one of the same name with a tenant are different users. */
  tenant?: string;
  /** Stores that no worker has. The client must have all others, since the export would lack what is in them. `streams` is not needed. */
  without?: readonly MissingStore[];
  /** Asked before each run: true skips it, because an interrupted export has it already. */
  isExported?: (run: UserRun) => boolean | Promise<boolean>;
  /** Ends the export before the next run. */
  signal?: AbortSignal;
}

/** All options by name: the compiler reports one that is added to the type and missing here. */
const OPTIONS: OptionTable<ExportUserOptions> = { user: true, tenant: true, without: true, isExported: true, signal: true };

/** Returns the user to export. Throws as `requestedUser`, and a UsageError for unknown options. */
export function exportedUser(own: Identity | undefined, options: ExportUserOptions): Identity & { user: string } {
  requireKnown('"exportUser"', options, OPTIONS);
  return requestedUser(EXPORT_CALL, own, options);
}
