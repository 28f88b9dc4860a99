import { rmSync } from 'node:fs';
import { chmod, mkdir, mkdtemp, rename, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import envPaths from 'env-paths';
import { atExit } from './at-exit.ts';
import { executableName } from './find-on-path.ts';

/** The location of a downloaded or built CLI. */
export interface CliCache {
  directory: string;
  cliPath: string;
}

/** Returns the cache in the user's cache directory, or in the directory that `LONGHAUL_CACHE` names. */
export function cliCache(env: NodeJS.ProcessEnv): CliCache {
  const directory = resolve(env['LONGHAUL_CACHE'] || envPaths('longhaul', { suffix: '' }).cache);
  return { directory, cliPath: join(directory, executableName(`temporal-${process.platform}-${process.arch}`)) };
}

/**
 * Lets `provide` create an executable in a directory of its own, and moves it into the cache in one step. Another
 * process sees either nothing or the whole file, and two concurrent processes each install a whole one. The directory
 * is removed in any case, even if this process exits in the middle.
 */
export async function installInCache(cache: CliCache, provide: (directory: string) => Promise<string>): Promise<void> {
  await mkdir(cache.directory, { recursive: true });
  const unfinished = await mkdtemp(join(cache.directory, 'unfinished-'));
  const forget = atExit(() => rmSync(unfinished, REMOVE));
  try {
    const executable = await provide(unfinished);
    await chmod(executable, 0o755);
    await rename(executable, cache.cliPath);
  } finally {
    await rm(unfinished, REMOVE);
    forget();
  }
}

const REMOVE = { recursive: true, force: true, maxRetries: 5, retryDelay: 50 };
