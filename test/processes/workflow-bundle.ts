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

const SOURCE_MAP = '//# sourceMappingURL=data:application/json;charset=utf-8;base64,';
const NO_SOURCES = Buffer.from(JSON.stringify({ version: 3, file: 'workflow-bundle.js', sources: [], names: [], mappings: '' }));

/**
 * A bundle with an empty source map, which the SDK wants. Each worker that begins reads its bundle, and the map is most of it:
 * without one it begins in a third of the time. Stack frames of workflows are then lines of the bundle.
 */
export function withoutSources(code: string): string {
  const at = code.lastIndexOf(SOURCE_MAP);
  if (at < 0) throw new Error('The bundle has no source map: see SOURCE_MAP');
  return `${code.slice(0, at)}${SOURCE_MAP}${NO_SOURCES.toString('base64')}`;
}

/**
 * Bundles Longhaul's workflows, and those of a module, into a file, for workers whose memory is measured: a bundler would use
 * most of it.
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
