import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cliCache } from '../../../src/dev-server/find-server.ts';

const run = promisify(execFile);

/** The time that the installation of the packages may take, in milliseconds. */
const INSTALL_MS = 400_000;

/** The Python of an environment, or the reason why it is not available. */
export type PythonEnvironment = { python: string; missing?: undefined } | { python?: undefined; missing: string };

/** Returns the Python of an environment with these packages, which is made once in each month, in the cache of the user. */
export async function pythonEnvironment(packages: readonly string[]): Promise<PythonEnvironment> {
  try {
    return { python: await pythonWith(packages) };
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message?: string };
    const lines = String(stderr || message)
      .trim()
      .split('\n');
    return { missing: lines.at(-1) ?? 'unknown' };
  }
}

async function pythonWith(packages: readonly string[]): Promise<string> {
  const month = new Date().toISOString().slice(0, 7);
  const name = createHash('sha256')
    .update(JSON.stringify([month, packages]))
    .digest('hex')
    .slice(0, 16);
  const { directory } = cliCache(process.env);
  const environment = join(directory, `python-${name}`);
  const python = (folder: string): string => join(folder, 'bin', 'python');
  if (existsSync(python(environment))) return python(environment);
  await mkdir(directory, { recursive: true });
  const unfinished = await mkdtemp(join(directory, 'unfinished-'));
  try {
    await run('python3', ['-m', 'venv', unfinished], { timeout: INSTALL_MS });
    await run(python(unfinished), ['-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', ...packages], { timeout: INSTALL_MS });
    await rename(unfinished, environment);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(python(environment))) throw error;
  } finally {
    await rm(unfinished, { recursive: true, force: true });
  }
  return python(environment);
}
