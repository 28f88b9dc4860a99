import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const PROJECT = fileURLToPath(new URL('../../', import.meta.url));

/** The files of a commit in a temporary folder. */
export interface Checkout {
  /** The hash of the commit. */
  commit: string;
  folder: string;
  remove: () => void;
}

/** Writes the files of a commit of this project into a temporary folder, with the packages that are installed here. */
export function checkOut(revision: string): Checkout {
  const git = (args: readonly string[]): string => execFileSync('git', args, { cwd: PROJECT, encoding: 'utf8' });
  const commit = git(['rev-parse', '--verify', `${revision}^{commit}`]).trim();
  const parent = realpathSync(mkdtempSync(join(tmpdir(), 'longhaul-checkout-')));
  const folder = join(parent, 'checkout');
  mkdirSync(folder);
  const archive = join(parent, 'commit.tar');
  git(['archive', '--output', archive, commit]);
  execFileSync('tar', ['-xf', archive, '-C', folder]);
  rmSync(archive);
  symlinkSync(join(PROJECT, 'node_modules'), join(folder, 'node_modules'));
  return { commit, folder, remove: () => rmSync(parent, { recursive: true, force: true }) };
}
