import { DefaultLogger, Runtime } from '@temporalio/worker';
import { logWriter } from '../../../src/log/log-writer.ts';

const write = logWriter({ level: 'ERROR', format: 'text' }, (text) => process.stderr.write(`${text}\n`));

// Many of these tests make activities and workflows fail: their logs would hide a real failure.
Runtime.install({
  logger: new DefaultLogger('ERROR', (entry) => {
    if (entry.meta?.['sdkComponent'] !== 'activity') write(entry);
  }),
});
