import { DefaultLogger, Runtime } from '@temporalio/worker';
import { logWriter } from '../../../src/log/log-writer.ts';

const write = logWriter({ level: 'ERROR', format: 'text' }, (text) => process.stderr.write(`${text}\n`));

// Files share a process, which has one runtime.
const installed: { quietRuntime?: Runtime } = globalThis as object;

// Many of these tests make activities and workflows fail: their logs would hide a real failure.
installed.quietRuntime ??= Runtime.install({
  logger: new DefaultLogger('ERROR', (entry) => {
    if (entry.meta?.['sdkComponent'] !== 'activity') write(entry);
  }),
});
