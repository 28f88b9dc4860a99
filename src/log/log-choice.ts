import { UsageError } from '../core/domain/errors.ts';
import { didYouMean } from '../core/domain/text.ts';

/** The log levels, from everything to nothing. */
export const LOG_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'OFF'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The formats of a log line: text for people, or one JSON object. */
export const LOG_FORMATS = ['text', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** The level and format of a log. */
export interface LogChoice {
  level: LogLevel;
  format: LogFormat;
}

/** The log options of a worker. */
export interface LogOptions {
  /**
   * The lowest level at which messages of your tools and workflows are written. Messages of Temporal's SDK itself are
   * written from `WARN` on, unless this is `ERROR` or `OFF`. Default: `LONGHAUL_LOG_LEVEL`, else `INFO`.
   */
  logLevel?: LogLevel;
  /** `json` writes one JSON object for each line of the log. Default: `LONGHAUL_LOG_FORMAT`, else `text`. */
  logFormat?: LogFormat;
}

/** The environment variables that are used if an option is not set. */
const LOG_VARIABLES = { level: 'LONGHAUL_LOG_LEVEL', format: 'LONGHAUL_LOG_FORMAT' } as const;

/**
 * Returns the log options: the caller's, else those of the environment, else `otherwise`. Throws a UsageError for a
 * value that is not one of the choices.
 */
export function chosenLog(
  { logLevel, logFormat }: { logLevel?: LogLevel | undefined; logFormat?: LogFormat | undefined },
  env: NodeJS.ProcessEnv,
  otherwise: LogChoice = { level: 'INFO', format: 'text' },
): LogChoice {
  return {
    level:
      oneOf(LOG_LEVELS, [
        ['the worker: "logLevel"', logLevel],
        [LOG_VARIABLES.level, env[LOG_VARIABLES.level] || undefined],
      ]) ?? otherwise.level,
    format:
      oneOf(LOG_FORMATS, [
        ['the worker: "logFormat"', logFormat],
        [LOG_VARIABLES.format, env[LOG_VARIABLES.format] || undefined],
      ]) ?? otherwise.format,
  };
}

/** Returns the first value that is set, in any letter case. */
function oneOf<Choice extends string>(choices: readonly Choice[], candidates: readonly (readonly [string, unknown])[]): Choice | undefined {
  const [owner, value] = candidates.find(([, one]) => one !== undefined) ?? [];
  if (value === undefined) return undefined;
  const choice = choices.find((one) => typeof value === 'string' && one.toLowerCase() === value.toLowerCase());
  if (choice !== undefined) return choice;
  throw new UsageError(
    `${owner} is ${JSON.stringify(value)}: write ${choices.map((one) => `"${one}"`).join(', ')}${didYouMean(value, choices)}`,
  );
}
