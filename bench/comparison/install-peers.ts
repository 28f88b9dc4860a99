import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const FOLDER = fileURLToPath(new URL('../peers', import.meta.url));
const LOCKFILE = join(FOLDER, 'package-lock.json');
const INSTALLED = join(FOLDER, 'node_modules', '.installed-from');

/**
 * Installs the plugins into `bench/peers/node_modules`, from the lockfile there, unless they are installed. They pin versions
 * of the SDK that are not Longhaul's, so they stay out of the project's own tree. Throws if npm fails.
 */
export async function installPeers(say: (line: string) => void): Promise<void> {
  const digest = createHash('sha256').update(readFileSync(LOCKFILE)).digest('hex');
  if (existsSync(INSTALLED) && readFileSync(INSTALLED, 'utf8') === digest) return;
  say('installing the plugins (350 MB, once)');
  const npm = spawn('npm', ['ci', '--prefix', FOLDER, '--ignore-scripts', '--no-audit', '--no-fund'], { stdio: ['ignore', 2, 2] });
  const [code] = (await once(npm, 'exit')) as [number | null];
  if (code !== 0)
    throw new Error('npm could not install the plugins: see its output above, or leave them out with "--sides longhaul,loop,value-loop"');
  writeFileSync(INSTALLED, digest);
}
