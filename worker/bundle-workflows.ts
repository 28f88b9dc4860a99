import { bundleWorkflowCode, type BundleOptions, DefaultLogger } from '@temporalio/worker';
import { errorMessage, UsageError } from '../src/core/domain/errors/error.ts';

/** What webpack says of the first thing that is wrong is enough to find it. */
const LINES_OF_OUTPUT = 8;

/** Bundles workflows, and says nothing meanwhile. Throws a UsageError with the bundler's reason. */
export async function bundleWorkflows(options: BundleOptions): Promise<{ code: string }> {
  const said: string[] = [];
  try {
    return await bundleWorkflowCode({ ...options, logger: new DefaultLogger('ERROR', ({ message }) => said.push(message)) });
  } catch (error) {
    throw new UsageError(`The workflows "${options.workflowsPath}" cannot be bundled: ${reason(said.join('\n')) ?? errorMessage(error)}`, {
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
