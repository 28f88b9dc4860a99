import { errorMessage } from '../core/domain/errors/error.ts';
import { ASK_AGAIN } from '../core/protocol.ts';
import { LOG_LEVELS, type LogChoice } from './log-choice.ts';
import { type LogEntry, logJson, logLine } from './log-line.ts';
import { ServerTrouble } from './server-trouble.ts';

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
  const trouble = new ServerTrouble();
  return (entry) => {
    const isOfAuthors = OF_AUTHORS.includes(entry.meta?.['sdkComponent']);
    if (severity(levelOf(entry)) < (isOfAuthors ? least : leastOfSdk)) return;
    // Who debugs reads the SDK's own words.
    const plain = isOfAuthors || least < LOG_LEVELS.indexOf('INFO') ? entry : trouble.inPlainWords(entry);
    if (plain !== undefined) write(asText(plain));
  };
}

/** Returns the level of an entry. The SDK logs as an error that a worker refused a query, whose caller sends it again. */
function levelOf({ level, meta }: LogEntry): string {
  const error = meta?.['error'];
  return error !== undefined && errorMessage(error).startsWith(ASK_AGAIN) ? 'DEBUG' : level;
}

function severity(level: string): number {
  return (LOG_LEVELS as readonly string[]).indexOf(level);
}
