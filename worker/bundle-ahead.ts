import type { CodecOptions } from '../src/codec/codec-options.ts';
import { bundleWorkflows } from './bundle-workflows.ts';
import { RUNS_MODULE } from './combined-workflows.ts';
import { LonghaulPlugin } from './plugin.ts';

/**
 * Bundles the workflows of a worker for several workers started one after the other: bundling takes most of their
 * start. The code depends on no agent.
 */
export async function bundleAhead({
  workflowsPath = RUNS_MODULE,
  codec,
}: {
  workflowsPath?: string;
  codec: CodecOptions;
}): Promise<string> {
  const { code } = await bundleWorkflows({ workflowsPath, plugins: [new LonghaulPlugin({ agents: [], providers: {}, codec })] });
  return code;
}
