import type { LonghaulClient } from '../../../client/longhaul-client.ts';
import type { RunStores } from '../../../client/delete-run.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { withClient } from '../../with-client.ts';
import { sayStoresLeft, type StoreFlags, storesIn, storesLeft } from './stores.ts';

/** The options of commands that delete a run. */
export interface DeletionFlags extends ServerFlags, StoreFlags {
  /** Ends the run and those below it first. */
  end?: boolean;
}

/** The options of `longhaul delete`. */
export interface DeleteFlags extends DeletionFlags {
  runId: string;
}

/** Removes a run and those below it, with their archives and spilled results. A run that does not exist is no error. */
export async function deleteRun(io: CommandIo, { runId, ...flags }: DeleteFlags): Promise<number> {
  const stores = storesIn(flags);
  return withClient(io, flags, async ({ client }) => removeRun(io, client, { kind: 'run', id: runId, stores, flags }));
}

/** A run or a session to delete. */
export interface Removal {
  kind: 'run' | 'session';
  id: string;
  stores: RunStores;
  flags: DeletionFlags;
}

/** The commands that show the ids. A beginning of an id deletes nothing: what it means may be gone, and another run begin like it. */
const LISTS = { run: 'list', session: 'sessions' } as const;

/** Deletes a run or a session, and says what was removed. */
export async function removeRun({ output }: CommandIo, client: LonghaulClient, { kind, id, stores, flags }: Removal): Promise<number> {
  const outcome = await client.handle(id).delete({ ...stores, end: flags.end === true });
  const without = storesLeft(flags);
  if (output.json) output.printJson({ [`${kind}Id`]: id, outcome, without });
  else if (outcome === 'deleted') output.print(`${kind === 'run' ? 'Run' : 'Session'} "${id}" is deleted`);
  else
    output.print(
      `The server has no ${kind} "${id}": there was nothing to delete. Write its whole id, as "${output.program} ${LISTS[kind]}" shows it`,
    );
  sayStoresLeft(output, without);
  return 0;
}
