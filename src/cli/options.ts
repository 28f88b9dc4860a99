import { type Command, InvalidArgumentError, Option } from 'commander';
import type { Versioning } from '../../worker/index.ts';
import { IF_EXISTS, type IfExists } from '../client/client-options.ts';
import type { SessionLimitOptions } from '../client/session-options.ts';
import type { ProgramOptions } from '../client/start.ts';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { LimitOptions } from '../core/domain/limits.ts';
import { type Duration, MAX_TIMER_MS, milliseconds } from '../core/domain/time.ts';
import { chosenLog, LOG_FORMATS, LOG_LEVELS, type LogChoice, type LogFormat, type LogLevel } from '../log/log-writer.ts';
import type { HandlerOptions } from '../server/server-options.ts';
import type { ServerFlags } from './command.ts';

/** Parses an option that is a whole number of at least `least`. */
export function wholeNumber(least: number): (text: string) => number {
  return (text) => {
    const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
    if (Number.isSafeInteger(value) && value >= least) return value;
    throw new InvalidArgumentError(`Write a whole number of at least ${least}.`);
  };
}

/** Parses an option that is a time: seconds, or a number with its unit. Returns milliseconds. */
export function seconds(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Math.round(Number(text) * 1000) : withUnit(text);
  if (value <= MAX_TIMER_MS) return value;
  throw new InvalidArgumentError('Write a number of seconds, or a time with its unit, such as 5m.');
}

function withUnit(text: string): number {
  try {
    return milliseconds(text as Duration, '');
  } catch {
    return Number.NaN;
  }
}

/** Parses an option that is a time of more than zero. */
export function positiveSeconds(text: string): number {
  const value = seconds(text);
  if (value > 0) return value;
  throw new InvalidArgumentError('Write a number of seconds above 0.');
}

/** Parses an option that is a time with its unit, in the form that runs take. */
export function duration(text: string): Duration {
  const value = text as Duration;
  try {
    milliseconds(value, '');
    return value;
  } catch {
    throw new InvalidArgumentError('Write a time with its unit, such as 30m, 2h or 1d.');
  }
}

/** Parses an option that is an amount of money. */
export function amount(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0) return value;
  throw new InvalidArgumentError('Write an amount above 0, such as 0.5.');
}

/** Parses an option that may also be `none`. The word is kept: Commander replaces `null`. */
export function orNone<Value>(parse: (text: string) => Value): (text: string) => Value | 'none' {
  return (text) => (text === 'none' ? text : parse(text));
}

/** Parses an option that is a name with a number, and may be repeated for other names. */
function countOf(text: string, before: Record<string, number> = {}): Record<string, number> {
  const [, name, number] = /^(.+)=(\d+)$/.exec(text) ?? [];
  if (name !== undefined && number !== undefined) return { ...before, [name]: wholeNumber(0)(number) };
  throw new InvalidArgumentError('Write a name and a whole number, such as refund=2.');
}

/** Parses an option that may be repeated: all values, in order. */
export function repeatable(text: string, before: readonly string[] = []): string[] {
  return [...before, text];
}

/** Parses an option that is a port. */
export function port(text: string): number {
  const value = wholeNumber(1)(text);
  if (value <= 65_535) return value;
  throw new InvalidArgumentError('Write a port from 1 to 65535.');
}

/** Parses an option that is any JSON value. */
export function jsonValue(text: string): JsonValue {
  try {
    return JSON.parse(text) as JsonValue;
  } catch (error) {
    throw new InvalidArgumentError(`That is not JSON: ${errorMessage(error)}.`);
  }
}

/** Parses an option that is a JSON object. */
export function jsonObject(text: string): JsonObject {
  const value = jsonValue(text);
  if (isJsonObject(value)) return value;
  throw new InvalidArgumentError('Write a JSON object, such as \'{"user": "ada"}\'.');
}

/** Parses the action if the run id of a start is taken. */
function ifExists(text: string): IfExists {
  const choice = IF_EXISTS.find((one) => one === text);
  if (choice !== undefined) return choice;
  throw new InvalidArgumentError(`Allowed choices are ${IF_EXISTS.join(', ')}.`);
}

/** The options of all commands that start runs. */
export interface StartingFlags extends ServerFlags, LimitFlags {
  deps?: JsonObject;
  state?: JsonObject;
  runId?: string;
  ifExists: IfExists;
  tag?: string[];
  memo?: JsonObject;
  priority?: number;
  fairnessKey?: string;
  wait?: boolean;
  /** Milliseconds. */
  waitTimeout?: number;
}

/** Adds these options to a command, except `wait`. `idOf` names the first part of the default id. */
export function addStartOptions(command: Command, { idOf, depsFor }: { idOf: string; depsFor: string }): Command {
  command
    .option('--deps <json>', `the run's data for ${depsFor}: a JSON object`, jsonObject)
    .option('--state <json>', 'the state that the run begins with, which tools change: a JSON object', jsonObject)
    .option('--run-id <run>', `the id of the run; the same id twice is one run (default: the ${idOf} and a UUID)`)
    .addOption(
      new Option('--if-exists <choice>', 'if the run id is taken: fail, go on with that run, or start it again if it has failed')
        .choices(IF_EXISTS)
        .argParser(ifExists)
        .default('fail'),
    );
  return addLimitOptions(command)
    .option('--tag <tag>', 'a word that the run is found by; may be repeated', repeatable)
    .option('--memo <json>', 'data that Temporal shows with the run: a JSON object', jsonObject)
    .option('--priority <number>', 'if the task queue has a backlog, runs with a lower number go first', wholeNumber(1))
    .option('--fairness-key <key>', 'if the task queue has a backlog, each key gets an equal share')
    .option('--wait-timeout <seconds>', 'wait, but no longer than this', positiveSeconds);
}

/** The options of a start that these flags set. Those of an agent are the same. */
type SharedOptions = Pick<
  ProgramOptions,
  'ifExists' | 'deps' | 'state' | 'runId' | 'tags' | 'memo' | 'priority' | 'fairnessKey' | 'limits'
>;

/** Returns the options of a start that these flags set. */
export function sharedStartOptions(flags: StartingFlags): SharedOptions {
  const { deps, state, runId, ifExists: choice, tag, memo, priority, fairnessKey } = flags;
  const limits = limitOptions(flags);
  return {
    ifExists: choice,
    ...(deps === undefined ? {} : { deps }),
    ...(state === undefined ? {} : { state }),
    ...(runId === undefined ? {} : { runId }),
    ...(tag === undefined ? {} : { tags: tag }),
    ...(memo === undefined ? {} : { memo }),
    ...(priority === undefined ? {} : { priority }),
    ...(fairnessKey === undefined ? {} : { fairnessKey }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

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

/** The flags that set limits of a whole session. `none`: no limit. */
export interface SessionLimitFlags {
  turns?: number | 'none';
  tokens?: number | 'none';
  cost?: number | 'none';
  deadline?: Duration | 'none';
}

/** Returns the limits that the flags set. */
export function sessionLimitOptions({ turns, tokens, cost, deadline }: SessionLimitFlags): SessionLimitOptions {
  return {
    ...(turns === undefined ? {} : { turns: limitIn(turns) }),
    ...(tokens === undefined ? {} : { totalTokens: limitIn(tokens) }),
    ...(cost === undefined ? {} : { costUsd: limitIn(cost) }),
    ...(deadline === undefined ? {} : { deadline: limitIn(deadline) }),
  };
}

function limitIn<Limit>(flag: Limit | 'none'): Limit | null {
  return flag === 'none' ? null : flag;
}

/** The flags that become options of the handler of the HTTP service. `none`: no limit. */
export interface HttpFlags {
  /** The origins of pages that may call. */
  allowOrigin?: string[];
  /** The requests of each caller. */
  requestsPerMinute?: number | 'none';
  /** The starts of each caller. */
  startsPerMinute?: number | 'none';
  /** The streams of a caller that are open at the same time. */
  openStreams?: number | 'none';
  chatTurns?: SessionLimitFlags['turns'];
  chatTokens?: SessionLimitFlags['tokens'];
  chatCost?: SessionLimitFlags['cost'];
  chatDeadline?: SessionLimitFlags['deadline'];
}

/** Adds these options to a command. */
export function addHttpOptions(command: Command): Command {
  const whole = orNone(wholeNumber(1));
  return command
    .option('--allow-origin <origin>', 'the origin of pages that may call, such as https://app.example; may be repeated', repeatable)
    .option('--requests-per-minute <number>', 'requests that each caller may send, or none for no limit (default: 6000)', whole)
    .option('--starts-per-minute <number>', 'runs, programs and turns that each caller may start, or none (default: 600)', whole)
    .option('--open-streams <number>', 'streams that each caller may have open, or none (default: 1000)', whole)
    .option('--chat-turns <number>', 'turns of each chat of the AI SDK, or none (default: none)', whole)
    .option('--chat-tokens <number>', 'tokens of each chat, or none (default: 200000)', whole)
    .option('--chat-cost <dollars>', "US dollars of each chat, by the worker's prices, or none", orNone(amount))
    .option('--chat-deadline <time>', 'time from the start of each chat, such as 30d, or none', orNone(duration));
}

/** Returns the options of the handler that the flags set. */
export function handlerOptions(flags: HttpFlags): Pick<HandlerOptions, 'cors' | 'limits' | 'chats'> {
  const { allowOrigin, requestsPerMinute: requests, startsPerMinute: starts, openStreams: streams } = flags;
  const chat = chatLimits(flags);
  return {
    ...(allowOrigin === undefined ? {} : { cors: { origins: allowOrigin } }),
    limits: {
      ...(requests === undefined ? {} : { requests: perMinute(requests) }),
      ...(starts === undefined ? {} : { starts: perMinute(starts) }),
      ...(streams === undefined ? {} : { streams: streams === 'none' ? false : streams }),
    },
    ...(Object.keys(chat).length === 0 ? {} : { chats: () => ({ limits: chat }) }),
  };
}

function chatLimits({ chatTurns, chatTokens, chatCost, chatDeadline }: HttpFlags): SessionLimitOptions {
  return sessionLimitOptions({
    ...(chatTurns === undefined ? {} : { turns: chatTurns }),
    ...(chatTokens === undefined ? {} : { tokens: chatTokens }),
    ...(chatCost === undefined ? {} : { cost: chatCost }),
    ...(chatDeadline === undefined ? {} : { deadline: chatDeadline }),
  });
}

function perMinute(count: number | 'none'): { count: number; per: '1m' } | false {
  return count === 'none' ? false : { count, per: '1m' };
}

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

/** The values of `--versioning`, with the value of the worker's option for each. */
export const VERSIONING_CHOICES = {
  pinned: 'PINNED',
  'auto-upgrade': 'AUTO_UPGRADE',
  'upgrade-on-continue-as-new': 'UPGRADE_ON_CONTINUE_AS_NEW',
} as const satisfies Record<string, Versioning['behavior']>;

/** The flags that tie a worker to a build. */
export interface VersioningFlags {
  deployment?: string;
  buildId?: string;
  versioning?: keyof typeof VERSIONING_CHOICES;
}

/** Returns the versioning of a worker; undefined without the flags. Throws a UsageError if some of them are missing. */
export function chosenVersioning({ deployment, buildId, versioning }: VersioningFlags): Versioning | undefined {
  if (deployment === undefined && buildId === undefined && versioning === undefined) return undefined;
  if (deployment !== undefined && buildId !== undefined && versioning !== undefined)
    return { deploymentName: deployment, buildId, behavior: VERSIONING_CHOICES[versioning] };
  throw new UsageError('--deployment, --build-id and --versioning go together: give all three, or none for a worker without versions');
}
