import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Imports of files, except type imports, which are erased. */
const IMPORT = /\b(?:import|export)\s+(?!type\b)(?:[^'"`;]*?\bfrom\s*)?['"](\.[^'"]+)['"]|\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g;

/** Endings of the file that an import without an extension, or with that of the compiled file, may mean. */
const ENDINGS = ['', '.ts', '.js', '.mts', '.mjs', '/index.ts', '/index.js'];

/** Returns the file and all files of the same project that it loads by relative imports. */
export async function importedFiles(file: string, found = new Set<string>()): Promise<Set<string>> {
  if (found.has(file)) return found;
  const code = await readFile(file, 'utf8').catch(() => undefined);
  if (code === undefined) return found;
  found.add(file);
  for (const [, from, lazy] of code.matchAll(IMPORT)) {
    const target = resolve(dirname(file), from ?? lazy ?? '');
    for (const base of new Set([target, target.replace(/\.(m?)js$/, '.$1ts')])) {
      for (const ending of ENDINGS) await importedFiles(`${base}${ending}`, found);
    }
  }
  return found;
}
