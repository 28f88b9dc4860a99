import { DefaultLogger, type RuntimeOptions } from '@temporalio/worker';
import type { LogChoice } from '../src/log/log-choice.ts';
import { logWriter } from '../src/log/log-writer.ts';

/** Has Temporal's SDK log through `write` as was chosen, and of its own what needs attention. */
export function runtimeOptions({ level, format }: LogChoice, write: (text: string) => void): RuntimeOptions {
  return {
    logger: new DefaultLogger(level === 'OFF' ? 'ERROR' : level, logWriter({ level, format }, write)),
    telemetryOptions: { logging: { filter: { core: 'WARN', other: 'ERROR' }, forward: {} } },
  };
}
