import { DefaultLogger } from '@temporalio/worker';
import { chosenLog } from '../../log/log-choice.ts';
import { logWriter } from '../../log/log-writer.ts';

/**
 * The log of a run in memory, on stderr: errors, such as what a tool threw at its last attempt, with its stack. Attempts
 * that fail before are what many tests are about; `LONGHAUL_LOG_LEVEL` shows them, and whatever tools log.
 */
export function testLogger(): DefaultLogger {
  const choice = chosenLog({}, process.env, { level: 'ERROR', format: 'text' });
  return new DefaultLogger(
    choice.level === 'OFF' ? 'ERROR' : choice.level,
    logWriter(choice, (text) => process.stderr.write(`${text}\n`)),
  );
}
