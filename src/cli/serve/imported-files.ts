import { readFile } from 'node:fs/promises';
import { dirname, resolve } from 'node:path';

/** Imports of files. One of types alone is erased. */
const IMPORT = /\b(?:import|export)\s+(?!type\b)(?:[^'"`;]*?\bfrom\s*)?['"](\.[^'"]+)['"]|\bimport\(\s*['"](\.[^'"]+)['"]\s*\)/g;

/** What a name without its extension, or with that of the compiled file, may stand for. */
const ENDINGS = ['', '.ts', '.js', '.mts', '.mjs', '/index.ts', '/index.js'];

/** The file, and the files that are loaded with it from the same project, by relative imports. */
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
