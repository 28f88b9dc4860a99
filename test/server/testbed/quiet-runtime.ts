import { DefaultLogger, Runtime } from '@temporalio/worker';
import { logWriter } from '../../../src/log/log-writer.ts';

const write = logWriter({ level: 'ERROR', format: 'text' }, (text) => process.stderr.write(`${text}\n`));

// Failing activities and workflows are what many of these tests are about: their logs would bury a real failure.
Runtime.install({
  logger: new DefaultLogger('ERROR', (entry) => {
    if (entry.meta?.['sdkComponent'] !== 'activity') write(entry);
  }),
});
