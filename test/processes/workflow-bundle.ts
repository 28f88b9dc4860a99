import { bundleWorkflowCode, DefaultLogger, type WorkerOptions } from '@temporalio/worker';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUNS_MODULE } from '../../worker/bundle-workflows.ts';
import { LonghaulPlugin } from '../../worker/index.ts';

/** The workflows of Longhaul in a file. */
interface WorkflowBundle {
  path: string;
  remove: () => Promise<void>;
}

/**
 * Bundles Longhaul's workflows and a module's workflows into a file, for workers whose memory is measured: a bundler would use most of it.
 */
export async function bundleToFile(workflowsPath: string = RUNS_MODULE): Promise<WorkflowBundle> {
  const { code } = await bundleWorkflowCode({
    workflowsPath,
    plugins: [new LonghaulPlugin({ agents: [], providers: {} })],
    logger: new DefaultLogger('ERROR'),
  });
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-bench-'));
  const path = join(directory, 'workflows.js');
  await writeFile(path, code);
  return { path, remove: () => rm(directory, { recursive: true }) };
}

/** The part of webpack's configuration that compiles TypeScript. */
interface SwcRule {
  use?: { options?: { jsc?: { target?: string } } };
}

/**
 * Bundles workflows as the published package has them: its JavaScript is compiled for Node, and goes into the bundle unchanged,
 * while the SDK would compile the TypeScript of this repository to ES2017.
 */
export const AS_PUBLISHED: NonNullable<WorkerOptions['bundlerOptions']> = {
  webpackConfigHook: (config) => {
    for (const rule of (config.module?.rules ?? []) as SwcRule[]) {
      const { jsc } = rule.use?.options ?? {};
      if (jsc !== undefined) jsc.target = 'es2024';
    }
    return config;
  },
};
