import { inspect } from 'node:util';
import { errorMessage } from '../core/domain/errors/error.ts';
import { printable } from '../core/domain/content/printable.ts';
import { memberOf } from '../core/domain/errors/thrown.ts';
import { stackLines } from './stack-lines.ts';

/** What Temporal's SDK hands to a logger. */
export interface LogEntry {
  level: string;
  message: string;
  timestampNanos: bigint;
  meta?: Record<string | symbol, unknown>;
}

/** What every entry carries and no reader of a terminal needs. */
const NOISE: readonly string[] = [
  ...'sdkComponent taskQueue namespace isLocal taskToken activityId workflowType durationMs sdk target workflowRunId'.split(' '),
  // The workflow has them already.
  'runId',
];

/** What is said in its own place in the line. */
const SAID: readonly string[] = ['activityType', 'workflowId', 'attempt', 'error', 'stack'];

/** An entry of a log as one line, and below it, indented, the stack of an error; ids are in the Temporal UI. */
export function logLine({ level, message, timestampNanos, meta = {} }: LogEntry): string {
  const rest = Object.fromEntries(Object.entries(meta).filter(([name]) => !NOISE.includes(name) && !SAID.includes(name)));
  const { error } = meta;
  const facts = [
    message,
    ...named('', meta['activityType']),
    ...named('run ', meta['workflowId']),
    ...named('attempt ', meta['attempt']),
    ...(Object.keys(rest).length === 0 ? [] : [asJson(rest)]),
    ...(error === undefined ? [] : [errorMessage(error)]),
  ];
  const line = `${timeOf(timestampNanos)} ${level} ${facts.join(' · ')}`.replace(/\s*\n\s*/g, ' ');
  return [line, ...stackLines(error).map((frame) => `    ${frame}`)].map(printable).join('\n');
}

/** An entry of a log as one line of JSON: time, level and message, then the fields; an error with its stack and its causes. */
export function logJson({ level, message, timestampNanos, meta = {} }: LogEntry): string {
  // Bytes of base64 that say nothing to anybody.
  const { taskToken: _, ...fields } = meta;
  return asJson({ time: timeOf(timestampNanos), level, message, ...fields });
}

function timeOf(nanos: bigint): string {
  return new Date(Number(nanos / 1_000_000n)).toISOString();
}

function named(prefix: string, value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' ? [`${prefix}${value}`] : [];
}

/** What is no JSON becomes text: a line of a log is never lost for what is in it. */
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
