import { PERMISSIONS } from './permissions.ts';
import { BY, ID } from './requests.ts';
import * as s from './shape.ts';

export const SET_PERMISSIONS_INPUT = s.closedObject({
  /** An id that the caller chooses, at most 64 characters: repeating a request with the same id has no effect. */
  id: ID,
  /** The whole policy of the run, which replaces the current one. */
  permissions: PERMISSIONS,
  by: s.optional(BY),
});

/** Argument of the Update `setPermissions`. */
export interface SetPermissionsInput extends s.ValueOf<typeof SET_PERMISSIONS_INPUT> {}

export const SET_PERMISSIONS_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The id of the request. */
  id: s.TEXT,
  /** `to_authorize`: the policy would be wider, and the worker decides before the next model call. The outcome is an event of the run. */
  status: s.oneOf('set', 'to_authorize', 'duplicate'),
});

/** Answer of the Update `setPermissions`. */
export interface SetPermissionsReceipt extends s.ValueOf<typeof SET_PERMISSIONS_RECEIPT> {}
