import type { RunHandle } from '../../client/run-handle.ts';
import { UsageError } from '../../core/domain/errors.ts';
import { defined, isJsonObject, parsedJson } from '../../core/domain/json.ts';
import type { PermissionOptions } from '../../define/permissions.ts';
import { osUser, sendWithId, withRun } from '../command.ts';
import type { CommandIo, FlagsOf } from '../define-command.ts';
import type { SET_PERMISSIONS } from '../permission-commands.ts';

/** Sets the permissions of a run, and prints whether they already apply. */
export async function setPermissions(io: CommandIo, flags: FlagsOf<typeof SET_PERMISSIONS>): Promise<number> {
  const permissions = permissionsIn(flags.permissions);
  return withRun(io, flags, async ({ client, runId }) => setPermissionsOfRun(io, client.handle<unknown>(runId), { ...flags, permissions }));
}

async function setPermissionsOfRun(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'setPermissions'>,
  { permissions, by = osUser(), id: ownId }: Pick<FlagsOf<typeof SET_PERMISSIONS>, 'by' | 'id'> & { permissions: PermissionOptions },
): Promise<number> {
  const receipt = await sendWithId(ownId, (id) => run.setPermissions(permissions, { id, ...defined({ by }) }));
  const texts = {
    duplicate: `Permissions had been set by "${receipt.id}" before: nothing changes`,
    set: `The permissions of run "${run.runId}" are set`,
    to_authorize: `The worker is asked before the next model call of run "${run.runId}", because the permissions would be wider`,
  };
  return output.result({ runId: run.runId, ...receipt }, texts[receipt.status]);
}

function permissionsIn(text: string): PermissionOptions {
  const value = parsedJson(text);
  if (isJsonObject(value)) return value;
  throw new UsageError(`Write the permissions as a JSON object, such as '{"deny": ["web_*"]}'`);
}
