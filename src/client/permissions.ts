import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { defined } from '../core/domain/json.ts';
import { errorMessage, LonghaulError } from '../core/domain/errors.ts';
import type { Permissions } from '../core/domain/permissions.ts';
import { requestProblem } from '../core/input-checks.ts';
import { UPDATES } from '../core/protocol.ts';
import { type PermissionOptions, plainPermissions } from '../define/permissions.ts';
import { type RaiseOptions, repeatable, updateRun } from './updates.ts';
import { SET_PERMISSIONS_INPUT, type SetPermissionsInput, type SetPermissionsReceipt } from '../core/domain/permission-requests.ts';

/** The options of setting permissions. */
export type SetPermissionsOptions = RaiseOptions;

/** Sets the permissions of a run. Throws `invalid_input` before sending anything if the run would refuse the form of the permissions. */
export async function setRunPermissions(
  client: Client,
  runId: string,
  permissions: PermissionOptions,
  options: SetPermissionsOptions,
): Promise<SetPermissionsReceipt> {
  const { id = randomUUID(), by, ...sending } = options;
  const argument: SetPermissionsInput = { id, permissions: plain(runId, permissions), ...defined({ by }) };
  const problem = requestProblem(SET_PERMISSIONS_INPUT, argument);
  if (problem !== undefined) throw new LonghaulError('invalid_input', `The permissions of run "${runId}" were not set: ${problem}`);
  const update = { name: UPDATES.setPermissions, argument, id, ...(await repeatable(client, UPDATES.setPermissions, argument)) };
  return updateRun<SetPermissionsReceipt>(client, runId, update, sending);
}

function plain(runId: string, permissions: PermissionOptions): Permissions {
  try {
    return plainPermissions(`run "${runId}"`, permissions);
  } catch (error) {
    throw new LonghaulError('invalid_input', `The permissions were not set: ${errorMessage(error)}`);
  }
}
