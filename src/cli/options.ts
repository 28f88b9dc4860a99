import { InvalidArgumentError } from 'commander';
import type { Versioning } from '../../worker/index.ts';
import { IF_EXISTS } from '../client/client-options.ts';
import type { SessionLimitOptions } from '../client/session-handle.ts';
import type { ProgramOptions } from '../client/start-workflow.ts';
import { TIERS } from '../core/domain/batch.ts';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import { defined, isJsonObject, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { LimitOptions } from '../core/domain/limits.ts';
import { TERMINAL_STATUSES } from '../core/domain/run.ts';
import { withoutEnd } from '../core/domain/text.ts';
import { type Duration, isoTime, MAX_TIMER_MS, milliseconds } from '../core/domain/time.ts';
import { chosenLog, LOG_FORMATS, LOG_LEVELS, type LogChoice, type LogLevel } from '../log/log-writer.ts';
import type { HandlerOptions } from '../server/server-options.ts';
import { argument, option, type ServerFlags, type Values } from './define-command.ts';

/** The statuses that lists can be filtered by. */
const STATUSES = [...TERMINAL_STATUSES, 'running', 'pending_confirmation', 'paused', 'idle'] as const;

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
  if (value > MAX_TIMER_MS) throw new InvalidArgumentError('Write a time of at most 24 days.');
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

/** Parses an option that is a point in time: ISO 8601, or a time with its unit before now. Returns ISO 8601. */
export function pointBeforeNow(text: string): string {
  const time = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Date.now() - withUnit(text);
  if (Math.abs(time) <= MAX_DATE_MS) return isoTime(time);
  throw new InvalidArgumentError('Write a time before now with its unit, such as 30m, 2h or 1d, or a date such as 2026-11-26T22:00Z.');
}

/** The largest date of JavaScript, in milliseconds before and after 1970. */
const MAX_DATE_MS = 8_640_000_000_000_000;

/** Parses an option that is an amount of money. */
function amount(text: string): number {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (value > 0) return value;
  throw new InvalidArgumentError('Write an amount above 0, such as 0.5.');
}

/** Parses an option that may also be `none`. The word is kept: Commander replaces `null`. */
function orNone<Value>(parse: (text: string) => Value): (text: string) => Value | 'none' {
  return (text) => {
    if (text === 'none') return text;
    try {
      return parse(text);
    } catch (error) {
      throw new InvalidArgumentError(`${withoutEnd(errorMessage(error), '.')}, or "none".`);
    }
  };
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

export const LIMIT_OPTIONS = {
  steps: option('<number>', 'limit: steps that the run may take', { read: wholeNumber(1) }),
  toolCalls: option('<number>', 'limit: tool calls that may start', { read: wholeNumber(0) }),
  toolCallsOf: option('<name=number>', 'limit: calls of one tool that may start, such as refund=2; may be repeated', { read: countOf }),
  tokens: option('<number>', 'limit: tokens, input and output together', { read: wholeNumber(0) }),
  inputTokens: option('<number>', 'limit: input tokens', { read: wholeNumber(0) }),
  outputTokens: option('<number>', 'limit: output tokens', { read: wholeNumber(0) }),
  cost: option('<dollars>', "limit: US dollars, by the worker's prices", { read: amount }),
  deadline: option('<time>', 'limit: time from the start of the run, such as 30m, 2h or 1d', { read: duration }),
} as const;

type LimitFlags = Values<typeof LIMIT_OPTIONS>;

/** The options of all commands that start runs, except `--wait`. `depsFor`: who reads the deps. `idOf`: what the default id begins with. */
export const startOptions = ({ idOf, depsFor }: { idOf: string; depsFor: string }) =>
  ({
    deps: option('<json>', `the run's data for ${depsFor}: a JSON object`, { read: jsonObject }),
    state: option('<json>', 'the state that the run begins with, which tools change: a JSON object', { read: jsonObject }),
    runId: option('<run>', `the id of the run (default: the name of the ${idOf} and a UUID)`),
    ifExists: option('<choice>', 'if a run with this id exists: fail, use that run, or start it again if it has failed', {
      choices: IF_EXISTS,
      default: 'fail',
      manual: 'Exit code 2 if it fails: see [a run id that is taken](starting.md#a-run-id-that-is-taken)',
    }),
    ...LIMIT_OPTIONS,
    steps: { ...LIMIT_OPTIONS.steps, manual: `The limits replace the limits of the ${idOf}` },
    tag: option('<tag>', 'a word for finding the run; may be repeated', { read: repeatable }),
    tier: option('<tier>', 'batch: model calls wait for batches of the provider, at half the price', {
      choices: TIERS,
      manual: `Default: the tier of the ${idOf}. See [batches](batches.md)`,
    }),
    memo: option('<json>', 'data that the Temporal server keeps and shows with the run: a JSON object', { read: jsonObject }),
    priority: option('<number>', 'if the task queue has a backlog, runs with a lower number start first', { read: wholeNumber(1) }),
    fairnessKey: option('<key>', 'if the task queue has a backlog, each key gets an equal share'),
    waitTimeout: option('<seconds>', 'wait for the end, but no longer than this', {
      read: positiveSeconds,
      manual: 'Exit code 8 after that time',
    }),
  }) as const;

/** The values of these options, and `wait`. */
export type StartingFlags = ServerFlags & Values<ReturnType<typeof startOptions>> & { wait?: boolean };

/** The options that several commands have, each with the same meaning. */
export const COMMON = {
  run: argument('<run>', 'the id of the run'),
  session: argument('<session>', 'the id of the session'),
  query: option('<query>', "an additional condition, in Temporal's list filter language"),
  limit: option('<number>', 'print at most this many', { read: wholeNumber(1), default: 20 }),
  since: (of: string) =>
    option('<time>', `only ${of} that started since then: 2h (ago), or a date such as 2026-11-26T22:00Z`, { read: pointBeforeNow }),
  before: (of: string) => option('<time>', `only ${of} that started before then, as for --since`, { read: pointBeforeNow }),
  status: (of: string) => option('<status>', `only ${of} with this status`, { choices: STATUSES }),
  agents: option('<module>', 'the module of your agents', { short: 'a', required: true }),
  workflows: option('<module>', 'the module of your own workflows, which the worker also runs', { short: 'w' }),
  output: option('<file>', 'write to this file instead of stdout', { short: 'o', manual: 'The file appears when it is complete' }),
  title: option('<text>', 'shown in lists of sessions'),
  by: (author: string) => option('<name>', `who ${author} (default: the name of the OS user)`),
  id: (request: string) => option('<id>', `the id of the ${request}; the same id twice is one ${request} (default: a UUID)`),
} as const;

/** The options of a start that these flags set, which are the same for agents. */
type SharedOptions = Pick<
  ProgramOptions,
  'ifExists' | 'deps' | 'state' | 'runId' | 'tags' | 'tier' | 'memo' | 'priority' | 'fairnessKey' | 'limits'
>;

/** Returns the options of a start that these flags set. */
export function sharedStartOptions(flags: StartingFlags): SharedOptions {
  const { deps, state, runId, ifExists: choice, tag, tier, memo, priority, fairnessKey } = flags;
  const limits = limitOptions(flags);
  return {
    ifExists: choice,
    ...defined({ deps, state, runId, tags: tag, tier, memo, priority, fairnessKey }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
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
  return defined({
    steps,
    toolCalls,
    toolCallsByName: toolCallsOf,
    totalTokens: tokens,
    inputTokens,
    outputTokens,
    costUsd: cost,
    deadline,
  });
}

/** The options that limit a whole session. `none`: no limit. */
export const SESSION_LIMIT_OPTIONS = {
  turns: option('<number>', 'limit: turns of the whole session, or "none"', { read: orNone(wholeNumber(1)) }),
  tokens: option('<number>', 'limit: tokens of all turns together, or "none"', { read: orNone(wholeNumber(1)) }),
  cost: option('<dollars>', 'limit: US dollars of all turns together, or "none"', { read: orNone(amount) }),
  deadline: option('<time>', 'limit: time from the start of the session, such as 2h or 30d, or "none"', {
    read: orNone(duration),
  }),
} as const;

type SessionLimitFlags = Values<typeof SESSION_LIMIT_OPTIONS>;

/** The names of the options that set the limits of a session. */
export const SESSION_LIMIT_FLAGS = {
  turns: 'turns',
  totalTokens: 'tokens',
  costUsd: 'cost',
  deadline: 'deadline',
} as const satisfies Record<keyof SessionLimitOptions, keyof SessionLimitFlags>;

/** Returns the limits that the flags set. */
export function sessionLimitOptions(flags: SessionLimitFlags): SessionLimitOptions {
  const { turns, tokens: totalTokens, cost: costUsd, deadline } = flags;
  return {
    ...(turns === undefined ? {} : { turns: limitIn(turns) }),
    ...(totalTokens === undefined ? {} : { totalTokens: limitIn(totalTokens) }),
    ...(costUsd === undefined ? {} : { costUsd: limitIn(costUsd) }),
    ...(deadline === undefined ? {} : { deadline: limitIn(deadline) }),
  };
}

function limitIn<Limit>(flag: Limit | 'none'): Limit | null {
  return flag === 'none' ? null : flag;
}

const upTo = orNone(wholeNumber(1));

/** The options that become options of the handler of the HTTP service. `none`: no limit. */
export const HTTP_OPTIONS = {
  allowOrigin: option('<origin>', 'an origin whose pages may call the service, such as https://app.example; may be repeated', {
    read: repeatable,
    manual: 'See [pages of other origins](authentication.md#pages-of-other-origins)',
  }),
  requestsPerMinute: option('<number>', 'limit: requests of each caller, or "none" (default: 6000)', {
    read: upTo,
    manual: 'See [limits](authentication.md#limits)',
  }),
  startsPerMinute: option('<number>', 'limit: runs, programs and turns that each caller starts, or "none" (default: 600)', {
    read: upTo,
  }),
  openStreams: option('<number>', 'limit: streams that each caller has open at once, or "none" (default: 1000)', { read: upTo }),
  chatTurns: option('<number>', 'limit: turns of each chat of the AI SDK, or "none" (default: none)', {
    read: upTo,
    manual: 'See [limits of a chat](ai-sdk.md#limits-of-a-chat)',
  }),
  chatTokens: option('<number>', 'limit: tokens of each chat, or "none" (default: 200000)', { read: upTo }),
  chatCost: option('<dollars>', 'limit: US dollars of each chat, by the prices of the worker, or "none" (default: none)', {
    read: orNone(amount),
  }),
  chatDeadline: option('<time>', 'limit: time from the start of each chat, such as 30d, or "none" (default: none)', {
    read: orNone(duration),
  }),
} as const;

export type HttpFlags = Values<typeof HTTP_OPTIONS>;

/** Returns the options of the handler that the flags set. */
export function handlerOptions(flags: HttpFlags): Pick<HandlerOptions, 'cors' | 'limits' | 'chats'> {
  const { allowOrigin, requestsPerMinute: requests, startsPerMinute: starts, openStreams: streams } = flags;
  const { chatTurns: turns, chatTokens: tokens, chatCost: cost, chatDeadline: deadline } = flags;
  const chat = sessionLimitOptions(defined({ turns, tokens, cost, deadline }));
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

function perMinute(count: number | 'none'): { count: number; per: '1m' } | false {
  return count === 'none' ? false : { count, per: '1m' };
}

/** The log options of commands that run a worker. */
export const LOG_OPTIONS = {
  logLevel: option('<level>', 'the lowest level of tool logs to show (default: LONGHAUL_LOG_LEVEL, then "info")', {
    choices: LOG_LEVELS.map((level) => level.toLowerCase() as Lowercase<LogLevel>),
  }),
  logFormat: option('<format>', 'lines for people, or one JSON object per line (default: LONGHAUL_LOG_FORMAT, then "text")', {
    choices: LOG_FORMATS,
  }),
} as const;

export type LogFlags = Values<typeof LOG_OPTIONS>;

const metricsOptions = (which: string) =>
  ({
    metricsPort: option('<port>', 'serve metrics for Prometheus at /metrics on this port', {
      read: port,
      manual: `${which}. See [metrics](telemetry.md#metrics)`,
    }),
    metricsHost: option('<address>', 'the address of the metrics, with --metrics-port (default: 127.0.0.1)', {
      manual: 'They ask nobody who they are: give one that only your Prometheus reaches',
    }),
  }) as const;

/** Options of the command that runs a worker. */
export const WORKER_METRICS_OPTIONS = metricsOptions(
  "Metrics of its runs and calls, and Temporal's; its health is at /readyz and /healthz",
);

/** Options of the command that runs a service. */
export const SERVICE_METRICS_OPTIONS = metricsOptions(
  "Metrics of its requests; with a worker inside, also of runs and calls, and Temporal's, and its health is at /readyz and /healthz",
);

export type MetricsFlags = Values<typeof WORKER_METRICS_OPTIONS>;

/** Returns the log settings from the flags, else from the environment. Throws a UsageError for a variable with an invalid value. */
export function flaggedLog({ logLevel, logFormat }: LogFlags, env: NodeJS.ProcessEnv): LogChoice {
  return chosenLog({ logLevel: logLevel?.toUpperCase() as LogLevel | undefined, logFormat }, env);
}

/** The values of `--versioning`, with the value of the worker's option for each. */
const VERSIONING_CHOICES = {
  pinned: 'PINNED',
  'auto-upgrade': 'AUTO_UPGRADE',
  'upgrade-on-continue-as-new': 'UPGRADE_ON_CONTINUE_AS_NEW',
} as const satisfies Record<string, Versioning['behavior']>;

/** The options that tie a worker to a build. */
export const VERSIONING_OPTIONS = {
  deployment: option('<name>', 'the Worker Deployment that this worker is a build of', {
    manual: 'Needs `--build-id` and `--versioning`: see [deploys.md](deploys.md)',
  }),
  buildId: option('<id>', 'the id of the build, such as the commit'),
  versioning: option('<behavior>', 'the behavior of open runs when there is a newer build', {
    choices: Object.keys(VERSIONING_CHOICES) as (keyof typeof VERSIONING_CHOICES)[],
  }),
} as const;

type VersioningFlags = Values<typeof VERSIONING_OPTIONS>;

/** Returns the versioning of a worker; undefined without the flags. Throws a UsageError if some of them are missing. */
export function chosenVersioning({ deployment, buildId, versioning }: VersioningFlags): Versioning | undefined {
  if (deployment === undefined && buildId === undefined && versioning === undefined) return undefined;
  if (deployment !== undefined && buildId !== undefined && versioning !== undefined)
    return { deploymentName: deployment, buildId, behavior: VERSIONING_CHOICES[versioning] };
  throw new UsageError('--deployment, --build-id and --versioning go together: give all three, or none for a worker without versions');
}
