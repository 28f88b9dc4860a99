import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { networkReason } from '../installing.ts';

/** The folder of what outlives a run of these tests: programs, and what the registry has fetched. */
export const CACHE = fileURLToPath(new URL('../../.cache/first-hours', import.meta.url));

const FOLDER = `${CACHE}/tools`;

/** Programs that only these tests need: no dependency of the project. The registry does not install with the newest `node-fetch`. */
const MANIFEST = `${JSON.stringify(
  {
    private: true,
    dependencies: { verdaccio: '6.8.0', pnpm: '12.4.2', typescript6: 'npm:@typescript/typescript6@6.0.2' },
    overrides: { 'node-fetch': '2.7.0' },
  },
  null,
  2,
)}\n`;

/** The programs, by their paths. */
export const TOOLS = {
  /** The folder of `pnpm`, for the PATH. */
  bin: `${FOLDER}/node_modules/.bin`,
  verdaccio: `${FOLDER}/node_modules/verdaccio/bin/verdaccio`,
  typescript6: `${FOLDER}/node_modules/typescript6`,
};

/** Installs the programs once. Returns why the network does not give them; an empty text if it does. */
export async function missingTools(): Promise<string> {
  try {
    await install();
    return '';
  } catch (error) {
    return `verdaccio, pnpm and TypeScript 6 cannot be installed: ${networkReason(error)}`;
  }
}

async function install(): Promise<void> {
  const done = `${FOLDER}/installed.json`;
  if (existsSync(done) && (await readFile(done, 'utf8')) === MANIFEST) return;
  await mkdir(FOLDER, { recursive: true });
  await writeFile(`${FOLDER}/package.json`, MANIFEST);
  await promisify(execFile)('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', '--no-package-lock'], {
    cwd: FOLDER,
    maxBuffer: 64 * 1024 * 1024,
  });
  await writeFile(done, MANIFEST);
}
