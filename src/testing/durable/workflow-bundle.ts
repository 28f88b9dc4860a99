import { bundleWorkflowCode, DefaultLogger, type WorkflowBundle } from '@temporalio/worker';
import { RUNS_MODULE } from '../../../worker/combined-workflows.ts';
import { LonghaulPlugin } from '../../../worker/plugin.ts';

let bundled: Promise<WorkflowBundle> | undefined;

/** Returns the workflow bundle as a worker loads it, created once per process because that takes seconds. */
export function workflowBundle(): Promise<WorkflowBundle> {
  bundled ??= bundleWorkflowCode({
    workflowsPath: RUNS_MODULE,
    plugins: [new LonghaulPlugin({ agents: [], providers: {} })],
    logger: new DefaultLogger('ERROR'),
  });
  return bundled;
}
