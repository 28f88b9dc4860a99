// A deploy while runs wait: runs that have begun end on their build, new ones begin on the new build, and neither needs a patch.
import type { LonghaulClient } from 'longhaul/client';
import { createWorker, type CreateWorkerOptions, type LonghaulWorker } from 'longhaul/worker';

/** A worker of one build. Start the new ones next to the old ones; these stay until their build has drained. */
export function workerOfBuild(
  deploymentName: string,
  buildId: string,
  options: Omit<CreateWorkerOptions, 'versioning'>,
): Promise<LonghaulWorker> {
  return createWorker({ ...options, versioning: { deploymentName, buildId, behavior: 'PINNED' } });
}

/** Sends new runs to a build. Throws while no worker of the build has polled. */
export async function makeCurrent(client: LonghaulClient, deploymentName: string, buildId: string): Promise<void> {
  const { workflowService, options } = client.temporal;
  await workflowService.setWorkerDeploymentCurrentVersion({ namespace: options.namespace, deploymentName, buildId });
}

/** True once no run is left on a build: its workers may be stopped. */
export async function isDrained(client: LonghaulClient, deploymentName: string, buildId: string): Promise<boolean> {
  const query = `TemporalWorkerDeploymentVersion = '${deploymentName}:${buildId}' AND ExecutionStatus = 'Running'`;
  const { count } = await client.temporal.workflow.count(query);
  return count === 0;
}
