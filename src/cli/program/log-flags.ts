import { type Command, Option } from 'commander';
import { chosenLog, LOG_FORMATS, LOG_LEVELS, type LogChoice, type LogFormat, type LogLevel } from '../../log/log-writer.ts';

/** The log options of commands that run a worker. */
export interface LogFlags {
  logLevel?: Lowercase<LogLevel>;
  logFormat?: LogFormat;
}

/** Adds the log options to a command. */
export function addLogFlags(command: Command): Command {
  return command
    .addOption(
      new Option('--log-level <level>', 'the lowest level of tool logs to show; else LONGHAUL_LOG_LEVEL, "info"').choices(
        LOG_LEVELS.map((level) => level.toLowerCase()),
      ),
    )
    .addOption(
      new Option('--log-format <format>', 'lines for people, or one JSON object each; else LONGHAUL_LOG_FORMAT, "text"').choices(
        LOG_FORMATS,
      ),
    );
}

/** Returns the log settings from the flags, else from the environment. Throws a UsageError for a variable with an invalid value. */
export function flaggedLog({ logLevel, logFormat }: LogFlags, env: NodeJS.ProcessEnv): LogChoice {
  return chosenLog({ logLevel: logLevel?.toUpperCase() as LogLevel | undefined, logFormat }, env);
}
