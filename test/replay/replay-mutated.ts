import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflowCode, DefaultLogger, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { expect } from 'vitest';
import { Replayer, type ReplayVerdict } from '../../worker/index.ts';
import { recordedHistories } from './histories.ts';
import { type BrokenChange, mutatedText, type Mutation } from './mutation.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A copy of the sources where bundles are made in sequence, and webpack's cache for the files that all of them share. */
class SourceCopy {
  readonly #folder = mkdtempSync(join(tmpdir(), 'longhaul-mutated-'));
  readonly #entry = join(this.#folder, 'mutated.ts');

  constructor() {
    for (const folder of ['src', 'workflows', 'test/server/testbed'])
      cpSync(join(ROOT, folder), join(this.#folder, folder), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(this.#folder, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(this.#folder, 'node_modules'));
    writeFileSync(this.#entry, "export * from './workflows/runs.ts';\nexport * from './test/server/testbed/host-workflows.ts';\n");
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true });
  }

  async bundle(mutation: Mutation | undefined, modules: readonly string[]): Promise<WorkflowBundleWithSourceMap> {
    const restore = mutation === undefined ? () => undefined : this.#mutate(mutation);
    try {
      return await bundleWorkflowCode({
        workflowsPath: this.#entry,
        workflowInterceptorModules: ['workflows/interceptors/cancellation.ts', 'workflows/interceptors/query-guard.ts', ...modules].map(
          (module) => join(this.#folder, module),
        ),
        webpackConfigHook: (config) => ({ ...config, cache: { type: 'filesystem', cacheDirectory: join(this.#folder, '.cache') } }),
        logger: new DefaultLogger('ERROR'),
      });
    } finally {
      restore();
    }
  }

  /** Changes a file, and returns the function that takes the change back. */
  #mutate(mutation: Mutation): () => void {
    const path = join(this.#folder, mutation.file);
    const text = readFileSync(path, 'utf8');
    writeFileSync(path, mutatedText(text, mutation));
    return () => writeFileSync(path, text);
  }
}

let copy: SourceCopy | undefined;

/**
 * Bundles the workflows with a change, or without one, from a copy of their sources; one bundle at a time. Its user removes the copy by
 * `removeMutated`. `modules` are further interceptors, relative to the root of the project.
 */
export async function bundleMutated(mutation: Mutation | undefined, modules: readonly string[] = []): Promise<WorkflowBundleWithSourceMap> {
  copy ??= new SourceCopy();
  return copy.bundle(mutation, modules);
}

/** Removes the copy of the sources. */
export function removeMutated(): void {
  copy?.remove();
  copy = undefined;
}

/** Returns the verdict on a history that a change breaks. */
export function verdictOn({ caught }: Pick<BrokenChange, 'caught'>): object {
  if (typeof caught === 'string') return { type: 'diverged', message: expect.stringMatching(`^${caught}`) as string, divergence: null };
  return { type: 'diverged', divergence: { ...caught, eventId: expect.any(Number) as number } };
}

/** Replays the histories of these names with changed code, or with a copy of the present code. */
export async function replayMutated(mutation: Mutation | undefined, names: readonly string[]): Promise<Record<string, ReplayVerdict>> {
  const workflowBundle = await bundleMutated(mutation, ['workflows/interceptors/command-recorder.ts']);
  const replayer = new Replayer({ worker: { workflowBundle } });
  const verdicts: Record<string, ReplayVerdict> = {};
  try {
    for (const { name, runId, history } of recordedHistories()) {
      if (names.includes(name)) verdicts[name] = await replayer.replay(runId, history);
    }
  } finally {
    await replayer.close();
  }
  return verdicts;
}
