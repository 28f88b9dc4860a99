import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { missingPackages } from '../../installing.ts';

const root = fileURLToPath(new URL('../../..', import.meta.url));
const run = promisify(execFile);
const ROOM = { maxBuffer: 64 * 1024 * 1024 };

/** Where Chromium is on this machine; undefined without one. */
export const CHROMIUM = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome'].find((file) => existsSync(file));

/** Installs the packages of the site, once. Returns why the network does not give them; an empty text if it does. */
export function missingSitePackages(): Promise<string> {
  return missingPackages('site', 'the packages of the site');
}

/**
 * Runs `npm run site -- …`, and returns its output and its processor time. The project is built already. Without another
 * version it is `next`, also where a tag is checked out.
 */
export async function site(command: string, ...args: string[]): Promise<{ printed: string; cpuSeconds: number }> {
  const { stdout, stderr } = await run(
    'bash',
    ['-c', 'TIMEFORMAT="cpu %U %S"; time "$0" site/main.ts "$@"', process.execPath, command, '--version', 'next', ...args],
    {
      cwd: root,
      ...ROOM,
    },
  );
  const [, user = '0', system = '0'] = /cpu ([\d.]+) ([\d.]+)\s*$/.exec(stderr) ?? [];
  return { printed: `${stdout}${stderr}`, cpuSeconds: Number(user) + Number(system) };
}

/** Returns the digest of each file of a folder. */
export function digestsOf(folder: string): Record<string, string> {
  const files = globSync('**/*', { cwd: folder, withFileTypes: true }).filter((one) => one.isFile());
  const paths = files.map((one) => `${one.parentPath}/${one.name}`).toSorted();
  return Object.fromEntries(paths.map((path) => [path.slice(folder.length + 1), digestOf(readFileSync(path))]));
}

function digestOf(content: string | Buffer): string {
  return createHash('sha256').update(content).digest('hex');
}
