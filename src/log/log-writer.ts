import { LOG_LEVELS, type LogChoice } from './log-choice.ts';
import { type LogEntry, logJson, logLine } from './log-line.ts';

/** The parts of the SDK in whose name the code of users logs: `context.log` of a tool, `log` of a workflow. */
const OF_AUTHORS: readonly unknown[] = ['activity', 'workflow', 'nexus'];

/** Writes the entries of a log that were chosen, each with `write` as one text without a line break at its end. */
export function logWriter({ level, format }: LogChoice, write: (text: string) => void): (entry: LogEntry) => void {
  const asText = format === 'json' ? logJson : logLine;
  const least = LOG_LEVELS.indexOf(level);
  // The SDK tells of every bundle and every start of a worker: of what it says, only what needs attention is written.
  const leastOfSdk = Math.max(least, LOG_LEVELS.indexOf('WARN'));
  return (entry) => {
    const from = OF_AUTHORS.includes(entry.meta?.['sdkComponent']) ? least : leastOfSdk;
    if (severity(entry.level) >= from) write(asText(entry));
  };
}

function severity(level: string): number {
  return (LOG_LEVELS as readonly string[]).indexOf(level);
}
