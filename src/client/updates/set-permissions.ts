import type { Client } from '@temporalio/client';
import { randomUUID } from 'node:crypto';
import { errorMessage, LonghaulError } from '../../core/domain/errors.ts';
import type { Permissions } from '../../core/domain/permissions.ts';
import { type SetPermissionsInput, type SetPermissionsReceipt, UPDATES } from '../../core/protocol.ts';
import { setPermissionsProblem } from '../../core/wire-schemas/request-schemas.ts';
import { type PermissionOptions, plainPermissions } from '../../define/permissions.ts';
import { updateRun, type UpdateOptions } from './update.ts';

/** The options of setting permissions. */
export interface SetPermissionsOptions extends UpdateOptions {
  /** An id of your own, at most 64 characters: the same id is accepted once. Default: a UUID. */
  id?: string;
  /** The person or service that sets them. */
  by?: string;
}

/** Sets the permissions of a run. Throws `invalid_input`, before anything is sent, for permissions that the run would refuse by their form. */
export async function setRunPermissions(
  client: Client,
  runId: string,
  permissions: PermissionOptions,
  options: SetPermissionsOptions,
): Promise<SetPermissionsReceipt> {
  const { id = randomUUID(), by, ...sending } = options;
  const argument: SetPermissionsInput = { id, permissions: plain(runId, permissions), ...(by === undefined ? {} : { by }) };
  const problem = setPermissionsProblem(argument);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The permissions of run "${runId}" were not set: ${problem}`);
  const update = { name: UPDATES.setPermissions, argument, id, updateId: `setPermissions ${id}` };
  return updateRun<SetPermissionsReceipt>(client, runId, update, sending);
}

function plain(runId: string, permissions: PermissionOptions): Permissions {
  try {
    return plainPermissions(`run "${runId}"`, permissions);
  } catch (error) {
    throw new LonghaulError('invalid_input', `The permissions were not set: ${errorMessage(error)}`);
  }
}
