import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LonghaulPlugin } from '../../worker/index.ts';

/** Bundles Longhaul's workflows together with those of the tests, into a file of its own. */
export async function bundleWorkflows(): Promise<{ path: string; remove: () => Promise<void> }> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./host-workflows.ts', import.meta.url)),
    plugins: [new LonghaulPlugin({ agents: [], providers: {} })],
    logger: new DefaultLogger('ERROR'),
  });
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-test-'));
  const path = join(directory, 'workflow-bundle.js');
  await writeFile(path, code);
  return { path, remove: () => rm(directory, { recursive: true }) };
}
