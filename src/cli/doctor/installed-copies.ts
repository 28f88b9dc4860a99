import { readdirSync, readFileSync, realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** A copy of a package in a project. */
export interface PackageCopy {
  name: string;
  version: string;
  /** Its folder. */
  path: string;
}

/** Returns every copy of the packages that `wants` accepts, in the `node_modules` of a folder and of the folders above it, each once. */
export function installedCopies(folder: string, wants: (name: string) => boolean): PackageCopy[] {
  const found = new Map<string, PackageCopy>();
  for (let at = folder; ; at = dirname(at)) {
    visitModules(join(at, 'node_modules'), wants, found);
    if (at === dirname(at)) return [...found.values()];
  }
}

/** Returns the copy of a package that modules in a folder load, as Node finds it: the nearest one above. */
export function copyLoadedFrom(folder: string, name: string): PackageCopy | undefined {
  for (let at = folder; ; at = dirname(at)) {
    const copy = copyAt(join(at, 'node_modules', name), name);
    if (copy !== undefined || at === dirname(at)) return copy;
  }
}

/** Visits a folder `node_modules` and those inside its packages. Links lead to packages that are visited where they are. */
function visitModules(folder: string, wants: (name: string) => boolean, found: Map<string, PackageCopy>): void {
  for (const { name, path, isLink } of packagesIn(folder)) {
    const copy = wants(name) ? copyAt(path, name) : undefined;
    if (copy !== undefined) found.set(copy.path, copy);
    if (!isLink) visitModules(join(path, 'node_modules'), wants, found);
  }
}

/** Yields the packages of a folder `node_modules`: with a scope, and where pnpm keeps them, too. */
function* packagesIn(folder: string): Generator<{ name: string; path: string; isLink: boolean }> {
  for (const entry of entriesOf(folder)) {
    const path = join(folder, entry.name);
    if (entry.name === '.pnpm') {
      for (const one of entriesOf(path)) yield* packagesIn(join(path, one.name, 'node_modules'));
    } else if (entry.name.startsWith('@')) {
      for (const one of entriesOf(path))
        yield { name: `${entry.name}/${one.name}`, path: join(path, one.name), isLink: one.isSymbolicLink() };
    } else if (!entry.name.startsWith('.')) {
      yield { name: entry.name, path, isLink: entry.isSymbolicLink() };
    }
  }
}

function copyAt(path: string, name: string): PackageCopy | undefined {
  try {
    const { version } = JSON.parse(readFileSync(join(path, 'package.json'), 'utf8')) as { version?: unknown };
    return { name, version: String(version), path: realpathSync(path) };
  } catch {
    return undefined;
  }
}

function entriesOf(folder: string): ReturnType<typeof readFolder> {
  try {
    return readFolder(folder);
  } catch {
    return [];
  }
}

function readFolder(folder: string) {
  return readdirSync(folder, { withFileTypes: true });
}
