import { lstatSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve, sep } from 'node:path';
import { fileURLToPath } from 'node:url';
import { errorMessage, UsageError } from '../../src/core/domain/errors/error.ts';
import { SKILL_FILE } from './parse-skill.ts';

/** The bounds of folders of skills: the number of files in all of them, and the bytes of one file. */
export const MAX_SKILL_FILES = 1_000;
export const MAX_SKILL_FILE_BYTES = 5 * 1024 * 1024;

/** The files of one skill by their paths in its folder, with `/` between the names. */
export interface SkillFiles {
  /** The path of the folder, for messages. */
  folder: string;
  files: Map<string, Buffer>;
}

/**
 * Reads the skills below a path: the folder itself if it has a `SKILL.md`, otherwise all folders below it that have one. Symbolic links
 * are not followed, and not part of a skill. Throws a UsageError with the path and the rule if there is none, or one is too large.
 */
export function readFolders(owner: string, path: string): SkillFiles[] {
  const root = resolve(path.startsWith('file:') ? fileURLToPath(path) : path);
  const paths = filesBelow(owner, root);
  const folders = paths.filter((file) => file.endsWith(`${sep}${SKILL_FILE}`)).map((file) => file.slice(0, -SKILL_FILE.length - 1));
  // A skill inside the folder of another one belongs to that one.
  const outermost = folders.filter((folder) => !folders.some((other) => other !== folder && folder.startsWith(other + sep)));
  if (outermost.length === 0) throw refused(owner, root, `it has no ${SKILL_FILE}, and neither has a folder in it`);
  return outermost.toSorted().map((folder) => ({
    folder,
    files: new Map(
      paths
        .filter((file) => file.startsWith(folder + sep))
        .map((file): [string, Buffer] => [relative(folder, file).split(sep).join('/'), contentOf(owner, file)])
        .toSorted(([one], [other]) => (one < other ? -1 : 1)),
    ),
  }));
}

function filesBelow(owner: string, root: string): string[] {
  const files: string[] = [];
  const folders = [root];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of entriesOf(owner, folder)) {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) folders.push(path);
      else if (entry.isFile()) files.push(path);
      if (files.length > MAX_SKILL_FILES) throw refused(owner, root, `it has more than ${MAX_SKILL_FILES} files`);
    }
  }
  return files;
}

function entriesOf(owner: string, folder: string): { name: string; isDirectory(): boolean; isFile(): boolean }[] {
  try {
    return readdirSync(folder, { withFileTypes: true });
  } catch (error) {
    throw refused(owner, folder, `it cannot be read as a folder: ${errorMessage(error)}`);
  }
}

function contentOf(owner: string, file: string): Buffer {
  const { size } = lstatSync(file);
  if (size > MAX_SKILL_FILE_BYTES) throw refused(owner, file, `it has ${size} bytes, more than ${MAX_SKILL_FILE_BYTES}`);
  return readFileSync(file);
}

/** Returns the error for a path of `skills` that cannot be used. */
export function refused(owner: string, path: string, problem: string): UsageError {
  return new UsageError(`${owner}: "skills": ${path}: ${problem}`);
}
