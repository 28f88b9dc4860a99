import { mkdir, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { checkName, UsageError } from './choices.ts';
import { type Choices, projectFiles } from './templates.ts';

/** Files of a folder that a message names. */
const NAMED = 3;

/** Names that a folder may have before a project is made in it. */
const HARMLESS = ['.git', '.DS_Store'];

/**
 * Writes a project into a folder, which must not exist or be empty. All files are written into a draft next to it, which becomes the folder
 * when it is complete: an interruption leaves nothing. An existing folder has the draft inside, and is not replaced: it may have a
 * repository, be on a separate disk, or be the current folder of a shell. Throws a UsageError, and changes nothing then.
 */
export async function createProject(folder: string, choices: Omit<Choices, 'name'>, signal: AbortSignal): Promise<string[]> {
  const target = resolve(folder);
  const name = basename(target);
  checkName(name);
  const isThere = await isEmptyFolder(target, folder);
  const files = projectFiles({ ...choices, name });
  const draft = join(isThere ? target : dirname(target), `.${name}.draft-${process.pid}`);
  try {
    for (const [path, text] of Object.entries(files)) {
      signal.throwIfAborted();
      const file = join(draft, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { flag: 'wx' });
    }
    signal.throwIfAborted();
    await (isThere ? moveEntries(draft, target) : rename(draft, target));
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return Object.keys(files);
}

/** Returns what removes everything that is put into a folder from now on, and the folder itself unless it is there already. */
export async function undoFor(folder: string): Promise<() => Promise<void>> {
  const before = await readdir(folder).catch(() => undefined);
  return async () => {
    if (before === undefined) return rm(folder, { recursive: true, force: true });
    for (const entry of await readdir(folder)) if (!before.includes(entry)) await rm(join(folder, entry), { recursive: true, force: true });
  };
}

/** Returns false if there is no such folder. Throws a UsageError for one that is not empty. */
async function isEmptyFolder(target: string, folder: string): Promise<boolean> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw new UsageError(`"${folder}" cannot be used: ${error.code === 'ENOTDIR' ? 'it is a file' : error.message}.`);
  });
  const files = (found ?? []).filter((one) => !HARMLESS.includes(one)).toSorted();
  if (files.length === 0) return found !== undefined;
  const named = files.slice(0, NAMED).map((one) => `"${one}"`);
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : '';
  throw new UsageError(`The folder "${folder}" is not empty: it has ${named.join(', ')}${more}. Name another one.`);
}

async function moveEntries(from: string, to: string): Promise<void> {
  for (const entry of await readdir(from)) await rename(join(from, entry), join(to, entry));
}
