import { joinedLines } from '../core/domain/content/text.ts';
import { inspect } from 'node:util';
import { errorMessage } from '../core/domain/errors/error.ts';
import { printable } from '../core/domain/content/printable.ts';
import { memberOf } from '../core/domain/errors/thrown.ts';

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
const CALLER = /[\\/]activities[\\/]execute-tool\.[jt]s/;

/** Frames of Node itself, and of the SDK around an activity. */
const HIDDEN_FRAME = /\(node:internal|at node:internal|[\\/]node_modules[\\/]@temporalio[\\/]/;

/** Returns a log entry as one line, followed by the indented stack of its error. Ids are shown in the Temporal UI. */
export function logLine({ level, message, timestampNanos, meta = {} }: LogEntry): string {
  const rest = Object.fromEntries(Object.entries(meta).filter(([name]) => !HIDDEN.includes(name) && !SHOWN_ELSEWHERE.includes(name)));
  const { error } = meta;
  const facts = [
    message,
    ...named('', meta['activityType']),
    ...named('run ', meta['workflowId']),
    ...named('attempt ', meta['attempt']),
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

function named(prefix: string, value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' ? [`${prefix}${value}`] : [];
}

/** Returns a value as JSON. Parts that are not JSON become text, so that no log line is lost because of its content. */
function asJson(value: object): string {
  try {
    return JSON.stringify(value, (_key, member: unknown) => shown(member));
  } catch {
    const texts = Object.entries(value).map(([name, member]) => [
      name,
      typeof member === 'string' ? member : inspect(member, { depth: 4 }),
    ]);
    return JSON.stringify(Object.fromEntries(texts));
  }
}

function shown(member: unknown): unknown {
  if (typeof member === 'bigint') return String(member);
  if (!(member instanceof Error)) return member;
  const { name, message, stack, cause } = member;
  const type = memberOf(member, 'type');
  return { name, message, ...(typeof type === 'string' ? { type } : {}), stack, ...(cause === undefined ? {} : { cause }) };
}

/**
 * Returns the stack of an error, a line for each frame, then the same for its causes, each with its message. Empty
 * for a value without a stack.
 */
function stackLines(error: unknown): string[] {
  return linesOf(error, 0);
}

function linesOf(error: unknown, depth: number): string[] {
  const stack = memberOf(error, 'stack');
  const lines = typeof stack === 'string' ? stack.split('\n').map((line) => line.trim()) : [];
  const all = lines.filter((line) => line.startsWith('at '));
  const caller = all.findIndex((line) => CALLER.test(line));
  // An error that the caller itself threw has only that frame.
  const frames = all.slice(0, caller > 0 ? caller : undefined).filter((line) => !HIDDEN_FRAME.test(line));
  const cause = memberOf(error, 'cause');
  if (typeof cause !== 'object' || cause === null || depth >= MOST_CAUSES) return frames;
  return [...frames, `caused by: ${errorMessage(cause).replace(/\s+/g, ' ')}`, ...linesOf(cause, depth + 1)];
}
