import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { RUNS_MODULE } from '../../../worker/bundle-workflows.ts';
import { LonghaulPlugin } from '../../../worker/index.ts';
import { withoutSources } from '../../../worker/write-packaged-bundle.ts';

/** Bundles Longhaul's workflows, which report their points, into a file of the folder. */
export async function bundleInto(folder: string): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: RUNS_MODULE,
    workflowInterceptorModules: [fileURLToPath(new URL('workflow-points.ts', import.meta.url))],
    plugins: [new LonghaulPlugin({ agents: [], providers: {} })],
    logger: new DefaultLogger('ERROR'),
  });
  const path = join(folder, 'workflows.js');
  await writeFile(path, withoutSources(code));
  return path;
}
