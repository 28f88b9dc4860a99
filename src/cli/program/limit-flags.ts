import type { Command } from 'commander';
import type { Duration } from '../../core/domain/time.ts';
import type { LimitOptions } from '../../core/domain/limits.ts';
import { amount, countOf, duration, wholeNumber } from './argument-parsers.ts';

/** The flags that set limits of a run. */
export interface LimitFlags {
  steps?: number;
  toolCalls?: number;
  toolCallsOf?: Record<string, number>;
  tokens?: number;
  inputTokens?: number;
  outputTokens?: number;
  cost?: number;
  deadline?: Duration;
}

/** Adds the options for limits to a command. */
export function addLimitOptions(command: Command): Command {
  return command
    .option('--steps <number>', 'steps that the run may take', wholeNumber(1))
    .option('--tool-calls <number>', 'tool calls that may start', wholeNumber(0))
    .option('--tool-calls-of <name=number>', 'calls of one tool that may start; may be repeated', countOf)
    .option('--tokens <number>', 'tokens, input and output together', wholeNumber(0))
    .option('--input-tokens <number>', 'input tokens', wholeNumber(0))
    .option('--output-tokens <number>', 'output tokens', wholeNumber(0))
    .option('--cost <dollars>', "US dollars, by the worker's prices", amount)
    .option('--deadline <time>', 'time from the start of the run, such as 30m, 2h, 1d', duration);
}

/** Returns the limits that the flags set. */
export function limitOptions({
  steps,
  toolCalls,
  toolCallsOf,
  tokens,
  inputTokens,
  outputTokens,
  cost,
  deadline,
}: LimitFlags): LimitOptions {
  return {
    ...(steps === undefined ? {} : { steps }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(toolCallsOf === undefined ? {} : { toolCallsByName: toolCallsOf }),
    ...(tokens === undefined ? {} : { totalTokens: tokens }),
    ...(inputTokens === undefined ? {} : { inputTokens }),
    ...(outputTokens === undefined ? {} : { outputTokens }),
    ...(cost === undefined ? {} : { costUsd: cost }),
    ...(deadline === undefined ? {} : { deadline }),
  };
}
