import { existsSync } from 'node:fs';
import { fileArchive } from '../../../archive/file-archive.ts';
import { LonghaulClient, type LonghaulClientOptions } from '../../../client/longhaul-client.ts';
import type { Forgotten, MissingStore } from '../../../client/removal/forget-options.ts';
import { counted } from '../../../core/domain/content/text.ts';
import { UsageError } from '../../../core/domain/errors/error.ts';
import type { Principal } from '../../../core/domain/run/principal.ts';
import { fileStore } from '../../../payload-store/file-store.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { memoryIn } from '../memory/memory-file.ts';
import { actingPrincipal, userKeyOf, withClient } from '../../with-client.ts';

/** The options of `longhaul forget`. */
export interface ForgetFlags extends ServerFlags {
  /** The folder of a file archive. */
  archive?: string;
  /** The folder of a file store. */
  payloadStore?: string;
  /** The file of a memory. */
  memory?: string;
  yes?: boolean;
}

/** The options that name the stores. */
const STORE_OPTIONS: Record<MissingStore, string> = { payloadStore: '--payload-store', archive: '--archive', memory: '--memory' };

/** Removes everything of a user; without `--yes`, says how many runs that are, and changes nothing. */
export async function forget(io: CommandIo, flags: ForgetFlags): Promise<number> {
  const { output, terminal } = io;
  const user = actingPrincipal(flags, terminal.env);
  if (user?.user === undefined) throw new UsageError('There is no user: write --user, and --tenant if the user has one');
  const stores = storesOf(flags);
  return withClient(io, flags, async ({ client }) => {
    if (flags.yes !== true) throw new UsageError(await preview(client, user));
    const userKey = userKeyOf(terminal.env);
    const removing = new LonghaulClient(client.temporal, { ...stores, principal: user, ...(userKey === undefined ? {} : { userKey }) });
    const forgotten = await removing.forget({ signal: terminal.signal });
    if (output.json) output.printJson({ tenant: user.tenant ?? null, user: user.user, ...forgotten });
    else output.print(removedText(user, forgotten));
    const without = forgotten.without.map((store) => STORE_OPTIONS[store]);
    if (without.length > 0) output.note(`Other stores are as they were: name those of your workers with ${without.join(', ')}`);
    return 0;
  });
}

/** A folder or file with a wrong name would be created, and the user remembered. */
function storesOf({ archive, payloadStore, memory }: ForgetFlags): Pick<LonghaulClientOptions, 'archive' | 'payloadStore' | 'memory'> {
  for (const [option, path] of Object.entries({ '--archive': archive, '--payload-store': payloadStore })) {
    if (path !== undefined && !existsSync(path)) throw new UsageError(`${option} names "${path}", which does not exist`);
  }
  return {
    ...(archive === undefined ? {} : { archive: fileArchive({ directory: archive }) }),
    ...(payloadStore === undefined ? {} : { payloadStore: fileStore({ directory: payloadStore }) }),
    ...(memory === undefined ? {} : { memory: memoryIn(memory) }),
  };
}

async function preview(client: LonghaulClient, user: Principal): Promise<string> {
  let runs = 0;
  for await (const _ of client.list()) runs += 1;
  return `This removes everything of ${nameOf(user)}, with ${counted(runs, 'run')} that the server lists. It cannot be undone: write --yes to do it`;
}

function removedText(user: Principal, { runs, executions, memoryEntries }: Forgotten): string {
  const entries = memoryEntries === 1 ? '1 entry' : `${memoryEntries} entries`;
  return `Everything of ${nameOf(user)} is removed: ${counted(runs.length, 'run')} with ${counted(executions, 'execution')}, ${entries} of memory`;
}

function nameOf({ tenant, user }: Principal): string {
  return `user "${user}"${tenant === undefined ? ' without a tenant' : ` of tenant "${tenant}"`}`;
}
