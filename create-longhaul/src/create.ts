import { access, mkdir, readdir, rename, rm, rmdir, writeFile } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import { checkName, UsageError } from './choices.ts';
import { type Choices, projectFiles } from './templates.ts';

/** Files of a folder that a message names. */
const NAMED = 3;

/** Names that a folder may have before a project is made in it. */
const HARMLESS = ['.git', '.DS_Store'];

/**
 * Writes a project into a folder, which must not exist or be empty. All files are written into a draft next to it, which becomes the folder
 * when it is complete: after an interruption there is nothing. Throws a UsageError, and changes nothing then.
 */
export async function createProject(folder: string, choices: Omit<Choices, 'name'>, signal: AbortSignal): Promise<string[]> {
  const target = resolve(folder);
  const name = basename(target);
  checkName(name);
  await requireEmpty(target, folder);
  const files = projectFiles({ ...choices, name });
  const draft = join(dirname(target), `.${name}.draft-${process.pid}`);
  try {
    for (const [path, text] of Object.entries(files)) {
      signal.throwIfAborted();
      const file = join(draft, path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text, { flag: 'wx' });
    }
    signal.throwIfAborted();
    await moveInto(draft, target);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
  return Object.keys(files);
}

async function requireEmpty(target: string, folder: string): Promise<void> {
  const found = await readdir(target).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return [];
    throw new UsageError(`"${folder}" cannot be used: ${error.code === 'ENOTDIR' ? 'it is a file' : error.message}.`);
  });
  const files = found.filter((one) => !HARMLESS.includes(one)).toSorted();
  if (files.length === 0) return;
  const named = files.slice(0, NAMED).map((one) => `"${one}"`);
  const more = files.length > NAMED ? ` and ${files.length - NAMED} more` : '';
  throw new UsageError(`The folder "${folder}" is not empty: it has ${named.join(', ')}${more}. Name another one.`);
}

/** Puts the draft in the place of the folder. A folder that is there keeps what it has: its repository. */
async function moveInto(draft: string, target: string): Promise<void> {
  const isThere = await access(target).then(
    () => true,
    () => false,
  );
  if (isThere && (await readdir(target)).length === 0) await rmdir(target);
  else if (isThere) {
    for (const entry of await readdir(draft)) await rename(join(draft, entry), join(target, entry));
    return;
  }
  await rename(draft, target);
}
