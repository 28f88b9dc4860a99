import { rename, rm, writeFile } from 'node:fs/promises';
import { errorMessage, UsageError } from '../../../core/domain/errors.ts';
import type { SavedContext } from '../../../core/saved/saved-context.ts';
import { counted } from '../../../core/domain/text.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { withRun } from '../../with-run.ts';

/** The options of `longhaul save`. */
export interface SaveFlags extends ServerFlags {
  runId: string;
  /** The file to which the document is written, instead of stdout. */
  output?: string;
}

/** Writes the context of a run as a JSON document, which a run can be started from. */
export async function saveRun(io: CommandIo, flags: SaveFlags): Promise<number> {
  return withRun(io, flags, async ({ client, runId }) => writeSaved(io, client.handle(runId), flags.output));
}

/** Writes the context of the run to a file, or to stdout. */
export async function writeSaved(
  { output }: CommandIo,
  run: { runId: string; save(): Promise<SavedContext> },
  file: string | undefined,
): Promise<number> {
  const saved = await run.save();
  const text = output.json ? JSON.stringify(saved) : JSON.stringify(saved, null, 2);
  if (file === undefined) output.print(text);
  else await writeWhole(file, `${text}\n`);
  output.note(`Run "${run.runId}": ${counted(saved.messages.length, 'message')}${file === undefined ? '' : ` in ${file}`}`);
  return 0;
}

/** Writes to a file with another name first, so that an incomplete document is not mistaken for a complete one. */
async function writeWhole(file: string, text: string): Promise<void> {
  const draft = `${file}.part`;
  try {
    await writeFile(draft, text);
    await rename(draft, file);
  } catch (error) {
    await rm(draft, { force: true });
    throw new UsageError(`Nothing can be written to "${file}": ${errorMessage(error)}`, { cause: error });
  }
}
