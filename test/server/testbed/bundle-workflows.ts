import { bundleWorkflowCode, DefaultLogger } from '@temporalio/worker';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { LonghaulPlugin, type LonghaulPluginOptions } from '../../../worker/index.ts';
import { withoutSources } from '../../../worker/write-packaged-bundle.ts';
import { codecWith } from '../codec/codec-agents.ts';

/** The paths of the workflow bundles of a test run. */
export interface WorkflowBundles {
  readonly path: string;
  /** For workers that encrypt: they refuse the other bundle. */
  readonly encryptedPath: string;
  remove(): Promise<void>;
}

/** Bundles Longhaul's workflows together with the test workflows, once without encryption and once with it, into separate files. */
export async function bundleWorkflows(): Promise<WorkflowBundles> {
  const directory = await mkdtemp(join(tmpdir(), 'longhaul-test-'));
  const path = await bundle(directory, 'workflow-bundle.js', {});
  const encryptedPath = await bundle(directory, 'encrypted-workflow-bundle.js', { codec: codecWith('k1', 1) });
  return { path, encryptedPath, remove: () => rm(directory, { recursive: true }) };
}

async function bundle(directory: string, name: string, options: Pick<LonghaulPluginOptions, 'codec'>): Promise<string> {
  const { code } = await bundleWorkflowCode({
    workflowsPath: fileURLToPath(new URL('./host-workflows.ts', import.meta.url)),
    plugins: [new LonghaulPlugin({ agents: [], providers: {}, ...options })],
    logger: new DefaultLogger('ERROR'),
  });
  const path = join(directory, name);
  await writeFile(path, withoutSources(code));
  return path;
}
