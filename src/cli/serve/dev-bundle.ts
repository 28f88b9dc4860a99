import { mkdtempSync, rmSync } from 'node:fs';
import { readFile, rename, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import type { CodecOptions } from '../../codec/encryption.ts';

/**
 * The workflow bundle of a session with `--watch`. The first worker that needs it creates it, and later workers load
 * it until a file of the workflows changes.
 */
export class DevBundle {
  readonly #folder = mkdtempSync(join(tmpdir(), 'longhaul-dev-'));
  readonly #workflows: string | undefined;
  #generation = 1;
  #files: Set<string> = new Set();

  constructor(workflows: string | undefined) {
    this.#workflows = workflows === undefined ? undefined : resolve(workflows);
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** The path of the bundle, whether or not it exists yet. */
  get file(): string {
    return join(this.#folder, `workflows-${this.#generation}.js`);
  }

  /** Finds the files that the workflows consist of. Called when a worker starts. */
  async look(): Promise<void> {
    if (this.#workflows !== undefined) this.#files = await importedFiles(this.#workflows);
  }

  /** Makes the next worker create a new bundle if one of the files belongs to the workflows. */
  changed(files: readonly string[]): void {
    if (files.some((file) => this.#files.has(file))) this.#generation += 1;
  }
}

/** Returns the bundle at the path, and creates it if it is missing: then `begins` is called first. */
export async function bundleAt(
  file: string,
  { begins, ...options }: { workflowsPath?: string; codec: CodecOptions; begins: () => void },
): Promise<{ codePath: string }> {
  if ((await stat(file).catch(() => undefined)) === undefined) {
    begins();
    const { bundleAhead } = await import('../../../worker/create-worker.ts');
    const unfinished = `${file}.${process.pid}`;
    await writeFile(unfinished, await bundleAhead(options));
    await rename(unfinished, file);
  }
  return { codePath: file };
}

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
