import type { BundlerPlugin, ReplayWorkerOptions } from '@temporalio/worker';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { bundleWorkflows } from './bundle-workflows.ts';
import { RUNS_MODULE } from './combined-workflows.ts';

/**
 * The interceptor module to add to a prebuilt bundle, so that a divergence can be described by its commands. A Replayer
 * that bundles itself adds it.
 */
export const COMMAND_RECORDER_MODULE = fileURLToPath(
  new URL(`../workflows/interceptors/command-recorder${extname(import.meta.url)}`, import.meta.url),
);

/**
 * Bundles workflows as a worker with these options does, and adds the command recorder. Throws a UsageError with the
 * bundler's reason.
 */
export async function bundleForReplay(
  workflowsPath: string = RUNS_MODULE,
  { interceptors, dataConverter, bundlerOptions, plugins = [] }: Omit<ReplayWorkerOptions, 'workflowsPath'>,
): Promise<{ code: string }> {
  const { payloadConverterPath, failureConverterPath } = dataConverter ?? {};
  return bundleWorkflows({
    ...bundlerOptions,
    workflowsPath,
    workflowInterceptorModules: [...(interceptors?.workflowModules ?? []), COMMAND_RECORDER_MODULE],
    ...(payloadConverterPath === undefined ? {} : { payloadConverterPath }),
    ...(failureConverterPath === undefined ? {} : { failureConverterPath }),
    plugins: plugins.filter((plugin): plugin is typeof plugin & BundlerPlugin => 'configureBundler' in plugin),
  });
}
