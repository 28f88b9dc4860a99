/**
 * Downloads the CLI in a program of its own, because the SDK's download has neither a time limit nor a way to abort
 * it. The parent ends this program as soon as the executable is in the directory, its only argument. `--help` makes
 * sure that no server starts.
 */
import { TestWorkflowEnvironment } from '@temporalio/testing';
import { errorMessage } from '../core/domain/errors/error.ts';

const downloadDir = process.argv[2];
if (downloadDir === undefined) throw new Error('The directory to download into is missing: give it as the only argument.');
try {
  await TestWorkflowEnvironment.createLocal({ server: { executable: { type: 'cached-download', downloadDir }, extraArgs: ['--help'] } });
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
}
// The SDK's native runtime would keep the process alive.
process.exit();
