import { mkdtempSync, rmSync } from 'node:fs';
import { rename, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { CodecOptions } from '../../codec/codec-options.ts';
import { importedFiles } from './imported-files.ts';

/** The workflow code of a session that watches: the worker that needs it first bundles it, and later ones take it as it is until a file of the workflows changes. */
export class DevBundle {
  readonly #folder = mkdtempSync(join(tmpdir(), 'longhaul-dev-'));
  readonly #workflows: string | undefined;
  #generation = 1;
  #files: Set<string> = new Set();

  constructor(workflows: string | undefined) {
    this.#workflows = workflows === undefined ? undefined : resolve(workflows);
    process.once('exit', () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** Where the code is, or is to be put. */
  get file(): string {
    return join(this.#folder, `workflows-${this.#generation}.js`);
  }

  /** Looks which files the workflows are made of. To be called when a worker starts. */
  async look(): Promise<void> {
    if (this.#workflows !== undefined) this.#files = await importedFiles(this.#workflows);
  }

  /** Where one of the files belongs to the workflows, the next worker bundles anew. */
  changed(files: readonly string[]): void {
    if (files.some((file) => this.#files.has(file))) this.#generation += 1;
  }
}

/** The bundle at the path, which is made where it is missing. */
export async function bundleAt(file: string, options: { workflowsPath?: string; codec: CodecOptions }): Promise<{ codePath: string }> {
  if ((await stat(file).catch(() => undefined)) === undefined) {
    const { bundleAhead } = await import('../../../worker/bundle-ahead.ts');
    const unfinished = `${file}.${process.pid}`;
    await writeFile(unfinished, await bundleAhead(options));
    await rename(unfinished, file);
  }
  return { codePath: file };
}
