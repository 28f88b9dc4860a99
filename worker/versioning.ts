import type { WorkerOptions } from '@temporalio/worker';
import { errorMessage, LonghaulError, UsageError } from '../src/core/domain/errors.ts';

/**
 * The behavior of runs in flight when another build becomes the current version of its deployment. `PINNED`: they end
 * on the build that they began with, which has to keep running until then. `AUTO_UPGRADE`: they move to the current
 * build with their next task, so changes of workflow code have to be guarded by `patched`.
 * `UPGRADE_ON_CONTINUE_AS_NEW`: pinned, but they move when they continue as new; older servers do not support it.
 */
export type VersioningBehavior = 'PINNED' | 'AUTO_UPGRADE' | 'UPGRADE_ON_CONTINUE_AS_NEW';

/** The build and the deployment of a worker. */
export interface Versioning {
  /** The name of the deployment, the same for all builds of a worker, such as the name of your service. */
  deploymentName: string;
  /** The id of the build, unique for each, such as the commit. */
  buildId: string;
  /** What happens to runs in flight when another build becomes current. */
  behavior: VersioningBehavior;
}

/** The part of a connection that returns the server's version. */
export interface SystemInfoAccess {
  workflowService: { getSystemInfo(request: object): Promise<{ serverVersion?: string | null }> };
}

const BEHAVIORS: readonly string[] = ['PINNED', 'AUTO_UPGRADE', 'UPGRADE_ON_CONTINUE_AS_NEW'] satisfies VersioningBehavior[];

/** The first server version that moves a pinned run when it continues as new. Older ones accept the option and ignore it. */
const UPGRADES_ON_CONTINUE_AS_NEW = [1, 31] as const;

/**
 * Returns the deployment options of the Temporal Worker. Throws a UsageError for names that Temporal does not accept,
 * and if `workerDeploymentOptions` are set too.
 */
export function deploymentOptions(
  { deploymentName, buildId, behavior }: Versioning,
  worker: Pick<WorkerOptions, 'workerDeploymentOptions'>,
): NonNullable<WorkerOptions['workerDeploymentOptions']> {
  if (worker.workerDeploymentOptions !== undefined)
    throw new UsageError('Both "versioning" and "workerDeploymentOptions" are given: leave one of them out');
  if (!/^[^.:]+$/.test(deploymentName))
    throw new UsageError(`The deployment name "${deploymentName}" is empty or has a dot or a colon in it: choose another one`);
  if (buildId === '')
    throw new UsageError(`The build id of deployment "${deploymentName}" is empty: take the commit of the build, or its version`);
  if (!BEHAVIORS.includes(behavior)) throw new UsageError(`The versioning behavior "${behavior}" is not one of ${BEHAVIORS.join(', ')}`);
  return {
    version: { deploymentName, buildId },
    useWorkerVersioning: true,
    defaultVersioningBehavior: behavior === 'AUTO_UPGRADE' ? 'AUTO_UPGRADE' : 'PINNED',
  };
}

/** Throws a UsageError if the server's version would ignore the versioning behavior. */
export async function requireSupport(connection: SystemInfoAccess, { behavior }: Versioning): Promise<void> {
  if (behavior !== 'UPGRADE_ON_CONTINUE_AS_NEW') return;
  const version = await serverVersion(connection);
  const [major = 0, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10) || 0);
  const [neededMajor, neededMinor] = UPGRADES_ON_CONTINUE_AS_NEW;
  if (major > neededMajor || (major === neededMajor && minor >= neededMinor)) return;
  throw new UsageError(
    `Versioning behavior "UPGRADE_ON_CONTINUE_AS_NEW" needs Temporal server ${UPGRADES_ON_CONTINUE_AS_NEW.join('.')} or newer, ` +
      `and this one is "${version || 'unknown'}", which would leave such runs on their build: choose PINNED or AUTO_UPGRADE`,
  );
}

async function serverVersion({ workflowService }: SystemInfoAccess): Promise<string> {
  try {
    const { serverVersion: version } = await workflowService.getSystemInfo({});
    return version ?? '';
  } catch (error) {
    throw new LonghaulError('server_unreachable', `The Temporal server does not say what it is (${errorMessage(error)})`, { cause: error });
  }
}
