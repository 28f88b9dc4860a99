/**
 * Downloads the CLI in a separate program, because the SDK's download has neither a time limit nor a way to abort
 * it. The parent ends this program as soon as the executable is in the directory, its only argument. `--help` makes
 * sure that no server starts.
 */
import { Runtime } from '@temporalio/worker';
import { createRequire } from 'node:module';
import { errorMessage } from '../core/domain/errors.ts';

const downloadDir = process.argv[2];
if (downloadDir === undefined) throw new Error('The directory to download into is missing: give it as the only argument.');
const { version } = createRequire(import.meta.url)('@temporalio/worker/package.json') as { version: string };
try {
  // What `TestWorkflowEnvironment.createLocal` of `@temporalio/testing` does: that package is only needed for tests.
  await Runtime.instance().createEphemeralServer({
    type: 'dev-server',
    exe: { type: 'cached-download', downloadDir, version: 'default', ttl: 86_400_000, sdkName: 'sdk-typescript', sdkVersion: version },
    ip: '127.0.0.1',
    port: null,
    ui: false,
    uiPort: null,
    namespace: 'default',
    dbFilename: null,
    log: { format: 'pretty', level: 'warn' },
    extraArgs: ['--help'],
  });
} catch (error) {
  process.stderr.write(`${errorMessage(error)}\n`);
}
// The SDK's native runtime would keep the process alive.
process.exit();
