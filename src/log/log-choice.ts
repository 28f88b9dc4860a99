import { UsageError } from '../core/domain/errors/error.ts';
import { didYouMean } from '../core/domain/errors/nearest-name.ts';

/** How much a worker logs, from everything to nothing. */
export const LOG_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'OFF'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** How a line of the log is written: for people, or as one JSON object. */
export const LOG_FORMATS = ['text', 'json'] as const;
export type LogFormat = (typeof LOG_FORMATS)[number];

/** What is logged, and how. */
export interface LogChoice {
  level: LogLevel;
  format: LogFormat;
}

/** What a worker may say about its log. */
export interface LogOptions {
  /**
   * From which level on what your tools and workflows log is written. What Temporal's SDK says itself is written from
   * `WARN` on, unless this is `ERROR` or `OFF`. Default: `LONGHAUL_LOG_LEVEL`, else `INFO`.
   */
  logLevel?: LogLevel;
  /** `json` writes one JSON object for each line of the log. Default: `LONGHAUL_LOG_FORMAT`, else `text`. */
  logFormat?: LogFormat;
}

/** The variables that choose where an option does not. */
export const LOG_VARIABLES = { level: 'LONGHAUL_LOG_LEVEL', format: 'LONGHAUL_LOG_FORMAT' } as const;

/** What is logged: as the options say, else as the environment does, else `otherwise`. Throws a UsageError that names what is none of the choices. */
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

/** The first that is given, in whatever case it is written. */
function oneOf<Choice extends string>(choices: readonly Choice[], given: readonly (readonly [string, unknown])[]): Choice | undefined {
  const [owner, value] = given.find(([, one]) => one !== undefined) ?? [];
  if (value === undefined) return undefined;
  const choice = choices.find((one) => typeof value === 'string' && one.toLowerCase() === value.toLowerCase());
  if (choice !== undefined) return choice;
  throw new UsageError(
    `${owner} is ${JSON.stringify(value)}: write ${choices.map((one) => `"${one}"`).join(', ')}${didYouMean(value, choices)}`,
  );
}
