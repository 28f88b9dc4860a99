import type { Permissions } from './permissions.ts';

/** A change of the permissions of a run, as it is recorded. */
export interface PermissionChange {
  /** The id that the caller chose. */
  id: string;
  /** The whole policy of the run from then on, in place of that of its agent. */
  permissions: Permissions;
  /** The caller's name, as claimed. */
  by: string | null;
  /** The caller, as verified by `authorize`: only for a change that widens. */
  verifiedBy?: string;
  /** ISO 8601. */
  at: string;
}

/** The name under which `authorize` is asked about a change that widens, in place of that of a tool. */
export const SET_PERMISSIONS = 'set_permissions';
