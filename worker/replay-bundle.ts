import { type BundlerPlugin, bundleWorkflowCode, DefaultLogger, type ReplayWorkerOptions } from '@temporalio/worker';
import { extname } from 'node:path';
import { fileURLToPath } from 'node:url';
import { UsageError, errorMessage } from '../src/domain/error.ts';
import { AGENT_RUN_MODULE } from './combined-workflows.ts';

/**
 * The module to add to the interceptors of a bundle built ahead, so that a divergence can be told by its commands.
 * Where a Replayer bundles by itself, it is added.
 */
export const COMMAND_RECORDER_MODULE = fileURLToPath(new URL(`../workflows/command-recorder${extname(import.meta.url)}`, import.meta.url));

/** What webpack says of the first thing that is wrong is enough to find it. */
const LINES_OF_OUTPUT = 8;

/** Bundles workflows as a worker with these options does, and lets a replay see their commands. Throws a UsageError with the bundler's reason. */
export async function bundleForReplay(
  workflowsPath: string = AGENT_RUN_MODULE,
  { interceptors, dataConverter, bundlerOptions, plugins = [] }: Omit<ReplayWorkerOptions, 'workflowsPath'>,
): Promise<{ code: string }> {
  const said: string[] = [];
  const { payloadConverterPath, failureConverterPath } = dataConverter ?? {};
  try {
    return await bundleWorkflowCode({
      ...bundlerOptions,
      workflowsPath,
      workflowInterceptorModules: [...(interceptors?.workflowModules ?? []), COMMAND_RECORDER_MODULE],
      ...(payloadConverterPath === undefined ? {} : { payloadConverterPath }),
      ...(failureConverterPath === undefined ? {} : { failureConverterPath }),
      plugins: plugins.filter((plugin): plugin is typeof plugin & BundlerPlugin => 'configureBundler' in plugin),
      logger: new DefaultLogger('ERROR', ({ message }) => said.push(message)),
    });
  } catch (error) {
    throw new UsageError(`The workflows "${workflowsPath}" cannot be bundled: ${reason(said.join('\n')) ?? errorMessage(error)}`, {
      cause: error,
    });
  }
}

/** Without the bundler's own stack, which says nothing about the workflows. */
function reason(output: string): string | undefined {
  const start = output.indexOf('ERROR in ');
  if (start < 0) return undefined;
  const lines = output.slice(start).split('\n');
  return lines
    .filter((line) => !/^\s+at /.test(line))
    .slice(0, LINES_OF_OUTPUT)
    .join('\n');
}
