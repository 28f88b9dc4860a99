import { DefaultLogger, type RuntimeOptions } from '@temporalio/worker';
import type { LogChoice } from '../src/log/log-choice.ts';
import { logWriter } from '../src/log/log-writer.ts';

/**
 * Returns options that make Temporal's SDK log through `write` with the chosen level and format; of its Rust core, only
 * warnings and errors are logged.
 */
export function runtimeOptions({ level, format }: LogChoice, write: (text: string) => void): RuntimeOptions {
  return {
    logger: new DefaultLogger(level === 'OFF' ? 'ERROR' : level, logWriter({ level, format }, write)),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
  };
}
