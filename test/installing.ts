import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { errorMessage } from '../src/core/domain/errors.ts';

const root = fileURLToPath(new URL('..', import.meta.url));

/** npm's output when a registry cannot be reached or does not deliver a package: not a defect of the installed packages. */
const OF_THE_NETWORK = /ENOTFOUND|ECONN|ETIMEDOUT|EAI_AGAIN|ENOTCACHED|\bE40[134]\b|\bE5\d\d\b/;

/** Returns npm's line that says why it cannot install. Rethrows the error if it is not a network error. */
export function networkReason(error: unknown): string {
  const printed = errorMessage(error);
  if (!OF_THE_NETWORK.test(printed)) throw error;
  return printed.split('\n').find((line) => line.includes('npm error code')) ?? printed.split('\n')[0] ?? '';
}

/**
 * Installs the packages of a folder of the repository as its lock has them, once. `named`: their description. Returns why the network
 * does not give them; an empty text if it does.
 */
export async function missingPackages(folder: string, named: string): Promise<string> {
  const lock = await readFile(`${root}/${folder}/package-lock.json`, 'utf8');
  const done = `${root}/${folder}/node_modules/.installed`;
  const digest = createHash('sha256').update(lock).digest('hex');
  try {
    if (existsSync(done) && (await readFile(done, 'utf8')) === digest) return '';
    const args = ['ci', '--prefix', folder, '--no-audit', '--no-fund', '--prefer-offline'];
    await promisify(execFile)('npm', args, { cwd: root, maxBuffer: 64 * 1024 * 1024 });
    await writeFile(done, digest);
    return '';
  } catch (error) {
    return `${named} cannot be installed: ${networkReason(error)}`;
  }
}
