import { bundleWorkflowCode, DefaultLogger, type WorkflowBundleWithSourceMap } from '@temporalio/worker';
import { cpSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** One change of one file of the project. */
export interface Mutation {
  /** Relative to the root of the project. */
  file: string;
  /** Occurs exactly once in the file. */
  find: string;
  replace: string;
  /** An import that the replacement needs. */
  needs?: string;
}

/**
 * Bundles the workflows with a change, or without one, from a copy of their sources. `modules` are further interceptors, relative
 * to the root of the project.
 */
export async function bundleMutated(mutation: Mutation | undefined, modules: readonly string[] = []): Promise<WorkflowBundleWithSourceMap> {
  const copy = mkdtempSync(join(tmpdir(), 'longhaul-mutated-'));
  try {
    for (const folder of ['src', 'workflows', 'test/server/testbed']) cpSync(join(ROOT, folder), join(copy, folder), { recursive: true });
    cpSync(join(ROOT, 'package.json'), join(copy, 'package.json'));
    symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
    if (mutation !== undefined) mutate(copy, mutation);
    const entry = join(copy, 'mutated.ts');
    writeFileSync(entry, "export * from './workflows/runs.ts';\nexport * from './test/server/testbed/host-workflows.ts';\n");
    return await bundleWorkflowCode({
      workflowsPath: entry,
      workflowInterceptorModules: ['workflows/interceptors/cancellation.ts', 'workflows/interceptors/query-guard.ts', ...modules].map(
        (module) => join(copy, module),
      ),
      logger: new DefaultLogger('ERROR'),
    });
  } finally {
    rmSync(copy, { recursive: true });
  }
}

function mutate(copy: string, { file, find, replace, needs = '' }: Mutation): void {
  const path = join(copy, file);
  const parts = readFileSync(path, 'utf8').split(find);
  if (parts.length !== 2) throw new Error(`"${find}" stands ${parts.length - 1} times in ${file}: the mutation needs another place`);
  writeFileSync(path, `${needs}\n${parts.join(replace)}`);
}
