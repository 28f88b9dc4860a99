import { fileURLToPath } from 'node:url';
import { inspect } from 'node:util';
import { connectionReason, errorMessage, isErrorCode, isOfConnection, memberOf, UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import { didYouMean, joinedLines, printable } from '../core/domain/text.ts';
import { ASK_AGAIN } from '../core/protocol.ts';

/** The SDK components of log entries from the user's code: `context.log` of a tool, `log` of a workflow. */
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
  const keys = new KeyTrouble();
  return (entry) => {
    const isOfAuthors = OF_AUTHORS.includes(entry.meta?.['sdkComponent']);
    if ((LOG_LEVELS as readonly string[]).indexOf(levelOf(entry)) < (isOfAuthors ? least : leastOfSdk)) return;
    // At debug levels, the SDK's own messages are kept.
    const isPlain = isOfAuthors || least < LOG_LEVELS.indexOf('INFO');
    const plain = isPlain ? entry : keys.inPlainWords(entry);
    const written = isPlain || plain !== entry ? plain : trouble.inPlainWords(entry);
    if (written !== undefined) write(asText(written));
  };
}

/** Returns the level of an entry. The SDK and its core log a refused query, although its caller retries it. */
function levelOf({ level, meta }: LogEntry): string {
  const { error, failure } = meta ?? {};
  const isRefused = error !== undefined && errorMessage(error).startsWith(ASK_AGAIN);
  return isRefused || String(failure).includes(`message: "${ASK_AGAIN}`) ? 'DEBUG' : level;
}

/** How long a problem is only logged once, in nanoseconds: each of a worker's many polls reports it repeatedly. */
const ONCE_NANOS = 60_000_000_000n;

/** Rewrites problems with the server in plain words, and reports each once a minute instead of once per poll. */
class ServerTrouble {
  readonly #said = new Map<string, bigint>();

  /** Returns the entry to write for a server problem, or undefined if it was already reported. Other entries are returned unchanged. */
  inPlainWords(entry: LogEntry): LogEntry | undefined {
    // The run has ended meanwhile, for example because it was cancelled: that is not a problem.
    if (entry.message.startsWith('Activity not found on completion')) return undefined;
    const { error, details, sdkComponent } = entry.meta ?? {};
    const told = [error, details]
      .map((part) => (part === undefined ? '' : errorMessage(part)))
      .join(' ')
      .trim();
    if (!isOfConnection(entry.message) && !isOfConnection(told)) return entry;
    const reason = connectionReason(`${entry.message} ${told}`);
    const before = this.#said.get(reason);
    if (before !== undefined && entry.timestampNanos - before < ONCE_NANOS) return undefined;
    this.#said.set(reason, entry.timestampNanos);
    const message = `The worker gets no answer of the Temporal server: ${reason}. It tries again, and runs continue once the server answers`;
    return { ...entry, message, meta: { sdkComponent } };
  }
}

/** The most runs whose lack of a key is remembered. */
const MOST_WITHOUT_KEY = 1_000;

/** The errors of a payload whose key this process lacks, or has with other bytes. */
const KEY_ERROR = /^(?:The encryption key|A payload does not decrypt with the key) "([\x21-\x7e]{1,64})"/;

/**
 * Reports a run whose key this process lacks once a minute: the server tries its tasks again until a worker has the key, and the SDK logs
 * each attempt several times, with its stack.
 */
class KeyTrouble {
  /** When it was last said, by key and run, and the executions for which it was. */
  readonly #said = new Map<string, bigint>();
  readonly #executions = new Map<string, bigint>();

  /** Returns the entry to write for such a run, or undefined if it was already reported. Other entries are returned unchanged. */
  inPlainWords(entry: LogEntry): LogEntry | undefined {
    const { error, runId, workflowRunId, workflowId } = entry.meta ?? {};
    const execution = [workflowRunId, runId].find((id) => typeof id === 'string') ?? '';
    const told = error === undefined ? '' : errorMessage(error);
    const keyId = KEY_ERROR.exec(told)?.[1];
    // The core of the SDK repeats each failure without its message.
    if (keyId === undefined)
      return entry.message.startsWith('Failing workflow task') && this.#isKnown(execution, entry) ? undefined : entry;
    this.#remember(this.#executions, execution, entry);
    const named = [memberOf(error, 'workflowId'), workflowId].find((id) => typeof id === 'string') ?? execution;
    const key = JSON.stringify([keyId, named]);
    const before = this.#said.get(key);
    if (before !== undefined && entry.timestampNanos - before < ONCE_NANOS) return undefined;
    this.#remember(this.#said, key, entry);
    const message = `Run "${named}" waits for a worker with the encryption key "${keyId}": ${told}`;
    return { ...entry, message, meta: { sdkComponent: entry.meta?.['sdkComponent'] } };
  }

  #isKnown(execution: string, { timestampNanos }: LogEntry): boolean {
    const before = this.#executions.get(execution);
    return before !== undefined && timestampNanos - before < ONCE_NANOS;
  }

  #remember(times: Map<string, bigint>, key: string, { timestampNanos }: LogEntry): void {
    if (times.size >= MOST_WITHOUT_KEY) times.clear();
    times.set(key, timestampNanos);
  }
}

/** A log entry as Temporal's SDK passes it to a logger. */
export interface LogEntry {
  level: string;
  message: string;
  timestampNanos: bigint;
  meta?: Record<string | symbol, unknown>;
}

/** Fields of every entry that a reader of a terminal does not need. */
const HIDDEN: readonly string[] = [
  ...'sdkComponent taskQueue namespace isLocal taskToken activityId workflowType durationMs sdk target workflowRunId'.split(' '),
  // Messages of workflows already contain it.
  'runId',
];

/** Fields that have their own position in the line. */
const SHOWN_ELSEWHERE: readonly string[] = ['activityType', 'workflowId', 'attempt', 'error', 'stack'];

const MOST_CAUSES = 5;

/** The frame that calls a tool: the frames below it are Longhaul's own. */
const CALLER = /[\\/]activities[\\/]tool-calls[\\/]execute-tool\.[jt]s/;

/** Frames of Node itself, and of the SDK around an activity. */
const HIDDEN_FRAME = /\(node:internal|at node:internal|[\\/]node_modules[\\/]@temporalio[\\/]/;

/** The folders of Longhaul's own code. */
const OWN_FOLDERS = ['src', 'activities', 'worker', 'workflows'].map((name) => fileURLToPath(new URL(`../../${name}/`, import.meta.url)));

/**
 * True for a frame that says nothing about a failure with a code, such as a refusal of a provider: it is of Longhaul itself or of a package.
 * The message says what happened. A defect of Longhaul keeps all frames.
 */
function isOfPackage(frame: string, code: unknown): boolean {
  if (!isErrorCode(code) || code === 'internal') return false;
  return OWN_FOLDERS.some((folder) => frame.includes(folder)) || /[\\/]node_modules[\\/]/.test(frame);
}

/** Returns a log entry as one line, followed by the indented stack of its error. Ids are shown in the Temporal UI. */
export function logLine({ level, message, timestampNanos, meta = {} }: LogEntry): string {
  const rest = Object.fromEntries(Object.entries(meta).filter(([name]) => !HIDDEN.includes(name) && !SHOWN_ELSEWHERE.includes(name)));
  const { error } = meta;
  const facts = [
    message,
    ...namedError('', meta['activityType']),
    ...namedError('run ', meta['workflowId']),
    ...namedError('attempt ', meta['attempt']),
    ...(Object.keys(rest).length === 0 ? [] : [asJson(rest)]),
    ...(error === undefined ? [] : [errorMessage(error)]),
  ];
  const line = joinedLines(`${timeOf(timestampNanos)} ${level} ${facts.join(' · ')}`, ' ');
  return [line, ...stackLines(error).map((frame) => `    ${frame}`)].map(printable).join('\n');
}

/**
 * Returns a log entry as one line of JSON: time, level and message, then the fields, and an error with its stack and
 * causes.
 */
export function logJson({ level, message, timestampNanos, meta = {} }: LogEntry): string {
  // The task token is opaque base64, which helps no reader.
  const { taskToken: _, ...fields } = meta;
  return asJson({ time: timeOf(timestampNanos), level, message, ...fields });
}

function timeOf(nanos: bigint): string {
  return new Date(Number(nanos / 1_000_000n)).toISOString();
}

function namedError(prefix: string, value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' ? [`${prefix}${value}`] : [];
}

/** Returns a value as JSON. Parts that are not JSON become text, so that no log line is lost because of its content. */
function asJson(value: object): string {
  try {
    return JSON.stringify(value, (_key, member: unknown) => visibleText(member));
  } catch {
    const texts = Object.entries(value).map(([name, member]) => [
      name,
      typeof member === 'string' ? member : inspect(member, { depth: 4 }),
    ]);
    return JSON.stringify(Object.fromEntries(texts));
  }
}

function visibleText(member: unknown): unknown {
  if (typeof member === 'bigint') return String(member);
  if (!(member instanceof Error)) return member;
  const { name, message, stack, cause } = member;
  const type = memberOf(member, 'type');
  return { name, message, ...(typeof type === 'string' ? { type } : {}), stack, ...defined({ cause }) };
}

/**
 * Returns the stack of an error, a line for each frame, then the same for its causes, each with its message. Empty
 * for a value without a stack.
 */
function stackLines(error: unknown, depth = 0, code = memberOf(error, 'type')): string[] {
  const stack = memberOf(error, 'stack');
  const lines = typeof stack === 'string' ? stack.split('\n').map((line) => line.trim()) : [];
  const all = lines.filter((line) => line.startsWith('at '));
  const caller = all.findIndex((line) => CALLER.test(line));
  // An error that the caller itself threw has only that frame.
  const frames = all.slice(0, caller > 0 ? caller : undefined).filter((line) => !HIDDEN_FRAME.test(line) && !isOfPackage(line, code));
  const cause = memberOf(error, 'cause');
  if (typeof cause !== 'object' || cause === null || depth >= MOST_CAUSES) return frames;
  return [...frames, `caused by: ${errorMessage(cause).replace(/\s+/g, ' ')}`, ...stackLines(cause, depth + 1, code)];
}

/** The log levels, from everything to nothing. */
export const LOG_LEVELS = ['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'OFF'] as const;
/** The lowest level that is logged. @useDeclaredType */
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The formats of a log line: text for people, or one JSON object. */
export const LOG_FORMATS = ['text', 'json'] as const;
/** The form of a line of the log. @useDeclaredType */
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
