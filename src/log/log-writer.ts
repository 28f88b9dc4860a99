import { LOG_LEVELS, type LogChoice } from './log-choice.ts';
import { type LogEntry, logJson, logLine } from './log-line.ts';

/** The components of the SDK under which the user's code logs: `context.log` of a tool, `log` of a workflow. */
const OF_AUTHORS: readonly unknown[] = ['activity', 'workflow', 'nexus'];

/**
 * Returns a function that writes log entries of the chosen level, each with `write` as one text without a final line
 * break.
 */
export function logWriter({ level, format }: LogChoice, write: (text: string) => void): (entry: LogEntry) => void {
  const asText = format === 'json' ? logJson : logLine;
  const least = LOG_LEVELS.indexOf(level);
  // The SDK logs every bundle and every start of a worker; only its warnings and errors are written.
  const leastOfSdk = Math.max(least, LOG_LEVELS.indexOf('WARN'));
  return (entry) => {
    const from = OF_AUTHORS.includes(entry.meta?.['sdkComponent']) ? least : leastOfSdk;
    if (severity(entry.level) >= from) write(asText(entry));
  };
}

function severity(level: string): number {
  return (LOG_LEVELS as readonly string[]).indexOf(level);
}
