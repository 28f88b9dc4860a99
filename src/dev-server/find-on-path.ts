import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Returns the name of an executable file on this platform. */
export function executableName(name: string): string {
  return process.platform === 'win32' ? `${name}.exe` : name;
}

/** Returns the first executable of that name on the PATH, or undefined. */
export async function findOnPath(name: string, env: NodeJS.ProcessEnv): Promise<string | undefined> {
  for (const directory of (env['PATH'] ?? '').split(delimiter)) {
    const candidate = join(directory, executableName(name));
    if (directory !== '' && (await isExecutable(candidate))) return candidate;
  }
  return undefined;
}

/** True for a file that this user may execute. */
export async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}
