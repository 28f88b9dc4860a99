import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RUNS_MODULE } from '../../worker/bundle-workflows.ts';
import { LonghaulPlugin } from '../../worker/index.ts';

/** The workflows of Longhaul in a file. */
export interface WorkflowBundle {
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
