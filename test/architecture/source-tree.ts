import { existsSync, globSync, readFileSync } from 'node:fs';
import { join, posix, sep } from 'node:path';
import { type Import, parseSource, type SourceFile } from './source-file.ts';

/** The files of a tree by path. */
export type SourceTree = ReadonlyMap<string, SourceFile>;

/** The folders of the product. */
export const PRODUCT_FOLDERS = ['src', 'workflows', 'activities', 'worker'];

/** All folders with code of the project. */
export const ALL_FOLDERS = [...PRODUCT_FOLDERS, 'create-longhaul', 'studio', 'site', 'test', 'bench', 'examples'];

/** Reads every TypeScript file below these folders of a root. */
export function readTree(root: string, folders: readonly string[]): SourceTree {
  return parseTree(Object.fromEntries(readTexts(root, folders)));
}

/** Reads the texts of the TypeScript files below these folders of a root, by path. */
export function readTexts(root: string, folders: readonly string[]): Map<string, string> {
  const paths = folders
    .filter((folder) => existsSync(join(root, folder)))
    .flatMap((folder) =>
      globSync(folder === 'studio' ? '**/*.{ts,tsx}' : '**/*.ts', { cwd: join(root, folder), exclude: ['**/node_modules'] }).map((path) =>
        [folder, ...path.split(sep)].join('/'),
      ),
    );
  return new Map(paths.map((path) => [path, readFileSync(join(root, path), 'utf8')]));
}

/** A tree from the texts of its files, by path. */
export function parseTree(texts: Readonly<Record<string, string>>): SourceTree {
  return new Map(Object.entries(texts).map(([path, text]) => [path, parseSource(path, text)]));
}

/** The path of an imported file within the tree, or the specifier itself for a package. */
export function targetOf(file: SourceFile, { specifier }: Import): string {
  return specifier.startsWith('.') ? posix.join(posix.dirname(file.path), specifier) : specifier;
}

/** The name of the package of a specifier, with `node:*` for every built-in module of Node. */
export function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return 'node:*';
  return specifier.split('/', specifier.startsWith('@') ? 2 : 1).join('/');
}

/** All files and packages that loading a file loads, itself included, each with the chain of files that leads to it. */
export function loadedBy(tree: SourceTree, entry: string): Map<string, string[]> {
  const chains = new Map<string, string[]>([[entry, [entry]]]);
  for (const [path, chain] of chains) {
    const file = tree.get(path);
    for (const one of file?.imports ?? []) {
      if (one.typeOnly || one.lazy || file === undefined) continue;
      const target = targetOf(file, one);
      const key = one.specifier.startsWith('.') ? target : packageOf(target);
      if (!chains.has(key)) chains.set(key, [...chain, key]);
    }
  }
  return chains;
}
