import type { RunHandle } from '../../../client/run-handle.ts';
import { isJsonObject } from '../../../core/domain/json.ts';
import { UsageError } from '../../../core/domain/errors.ts';
import type { PermissionOptions } from '../../../define/permissions.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { osUser } from '../../os-user.ts';
import { underId } from '../request-id.ts';
import { withRun } from '../../with-run.ts';

/** The options of `longhaul set-permissions`. */
export interface SetPermissionsFlags extends ServerFlags {
  runId: string;
  /** The permissions as JSON. */
  permissions: string;
  by?: string;
  id?: string;
}

/** Sets the permissions of a run, and prints if they hold already. */
export async function setPermissions(io: CommandIo, flags: SetPermissionsFlags): Promise<number> {
  const permissions = permissionsIn(flags.permissions);
  return withRun(io, flags, async ({ client, runId }) => setPermissionsOfRun(io, client.handle<unknown>(runId), { ...flags, permissions }));
}

/** Sets the permissions of the run of a handle. */
export async function setPermissionsOfRun(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'setPermissions'>,
  { permissions, by = osUser(), id: ownId }: Pick<SetPermissionsFlags, 'by' | 'id'> & { permissions: PermissionOptions },
): Promise<number> {
  const receipt = await underId(ownId, (id) => run.setPermissions(permissions, { id, ...(by === undefined ? {} : { by }) }));
  if (output.json) output.printJson({ runId: run.runId, ...receipt });
  else if (receipt.status === 'duplicate') output.print(`Permissions had been set by "${receipt.id}" before: nothing changes`);
  else if (receipt.status === 'set') output.print(`The permissions of run "${run.runId}" are set`);
  else output.print(`The worker is asked before the next model call of run "${run.runId}", because the permissions would be wider`);
  return 0;
}

function permissionsIn(text: string): PermissionOptions {
  try {
    const value: unknown = JSON.parse(text);
    if (isJsonObject(value)) return value;
  } catch {
    // The text is no JSON: the message below says what to write.
  }
  throw new UsageError(`Write the permissions as a JSON object, such as '{"deny": ["web_*"]}'`);
}
