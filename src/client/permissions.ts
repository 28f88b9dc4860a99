import { randomUUID } from 'node:crypto';
import type { Client } from '@temporalio/client';
import { defined } from '../core/domain/json.ts';
import { UPDATES } from '../core/protocol.ts';
import { type PermissionOptions, setPermissionsInput } from '../define/permissions.ts';
import { type RaiseOptions, repeatable, updateRun } from './updates.ts';
import type { SetPermissionsReceipt } from '../core/domain/permission-requests.ts';

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
  const argument = setPermissionsInput(runId, { id, permissions, ...defined({ by }) });
  const update = { name: UPDATES.setPermissions, argument, id, ...(await repeatable(client, UPDATES.setPermissions, argument)) };
  return updateRun<SetPermissionsReceipt>(client, runId, update, sending);
}
