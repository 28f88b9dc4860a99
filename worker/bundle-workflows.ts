import { bundleWorkflowCode, type BundleOptions, DefaultLogger } from '@temporalio/worker';
import { errorMessage, UsageError } from '../src/core/domain/errors/error.ts';

/** The lines of webpack's output that are shown: enough to find the first error. */
const LINES_OF_OUTPUT = 8;

/** Bundles workflows without logging. Throws a UsageError with the bundler's reason. */
export async function bundleWorkflows(options: BundleOptions): Promise<{ code: string }> {
  const output: string[] = [];
  try {
    return await bundleWorkflowCode({ ...options, logger: new DefaultLogger('ERROR', ({ message }) => output.push(message)) });
  } catch (error) {
    throw new UsageError(
      `The workflows "${options.workflowsPath}" cannot be bundled: ${reason(output.join('\n')) ?? errorMessage(error)}`,
      {
        cause: error,
      },
    );
  }
}

/** Returns the bundler's error without its own stack, which says nothing about the workflows. */
function reason(output: string): string | undefined {
  const start = output.indexOf('ERROR in ');
  if (start < 0) return undefined;
  const lines = output.slice(start).split('\n');
  return lines
    .filter((line) => !/^\s+at /.test(line))
    .slice(0, LINES_OF_OUTPUT)
    .join('\n');
}
