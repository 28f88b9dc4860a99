import { fileArchive } from '../../../archive/file-archive.ts';
import { fileStore } from '../../../payload-store/file-store.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { withClient } from '../../with-client.ts';

/** The options of `longhaul delete`. */
export interface DeleteFlags extends ServerFlags {
  runId: string;
  /** The folder of a file archive. */
  archive?: string;
  /** The folder of a file store. */
  payloadStore?: string;
  /** Ends the run and those below it first. */
  end?: boolean;
}

/** Removes a run and those below it, with their archives and spilled results. A run that does not exist is no error. */
export async function deleteRun(io: CommandIo, { runId, archive, payloadStore, end = false, ...flags }: DeleteFlags): Promise<number> {
  const { output } = io;
  const stores = {
    ...(archive === undefined ? {} : { archive: fileArchive({ directory: archive }) }),
    ...(payloadStore === undefined ? {} : { payloadStore: fileStore({ directory: payloadStore }) }),
  };
  const outcome = await withClient(io, flags, async ({ client }) => client.handle(runId).delete({ ...stores, end }));
  if (output.json) output.printJson({ runId, outcome });
  else if (outcome === 'deleted') output.print(`Run "${runId}" is deleted`);
  else output.print(`The server has no run "${runId}": there was nothing to delete`);
  return 0;
}
