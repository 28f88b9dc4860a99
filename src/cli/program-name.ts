import { realpathSync, statSync } from 'node:fs';
import { basename, delimiter, dirname, join, sep } from 'node:path';

/** How this program is called from the folder at hand, so that commands to copy run as they stand. */
export interface ProgramPlace {
  /** The file that runs. */
  main: string;
  cwd: string;
  env: NodeJS.ProcessEnv;
}

/** `longhaul` where the shell finds it, else `npx longhaul`. A project's own is not found: npm alone puts `node_modules/.bin` into the path. */
export function programName({ main, cwd, env }: ProgramPlace): string {
  const onPath = (env['PATH'] ?? '')
    .split(delimiter)
    .filter((folder) => folder !== '' && !folder.endsWith(join('node_modules', '.bin')))
    .flatMap((folder) => ['longhaul', 'longhaul.cmd'].map((name) => join(folder, name)))
    .find(isFile);
  if (onPath === undefined) return 'npx longhaul';
  // Where the project has its own, another one on the path may be another version.
  return isOfProject(real(main), cwd) && real(onPath) !== real(main) ? 'npx longhaul' : 'longhaul';
}

/** Whether a file is in the `node_modules` of the folder or of one above. */
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
