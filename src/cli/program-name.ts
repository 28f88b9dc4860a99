import { realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, join, sep } from 'node:path';

/**
 * The facts that decide how this program is called from the current folder, so that commands to copy work as they
 * are.
 */
export interface ProgramLocation {
  /** The file that is running. */
  main: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/**
 * Returns `longhaul` if the shell finds it, otherwise `npx longhaul`. A copy in `node_modules/.bin` does not count:
 * only npm puts that folder on the PATH.
 */
export function programName({ main, cwd, env }: ProgramLocation): string {
  const onPath = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '' && !folder.endsWith(join('node_modules', '.bin')))
    .flatMap((folder) => ['longhaul', 'longhaul.cmd'].map((name) => join(folder, name)))
    .find(isFile);
  if (onPath === undefined) return 'npx longhaul';
  // If the project has its own copy, the one on the PATH may be another version.
  return isOfProject(real(main), cwd) && real(onPath) !== real(main) ? 'npx longhaul' : 'longhaul';
}

/** True if a file is in the `node_modules` of the folder or of a parent folder. */
function isOfProject(file: string, cwd: string): boolean {
  for (let folder = real(cwd); ; folder = dirname(folder)) {
    if (basename(folder) !== 'node_modules' && file.startsWith(join(folder, 'node_modules') + sep)) return true;
    if (folder === dirname(folder)) return false;
  }
}

function isFile(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isFile() === true;
}

function real(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
