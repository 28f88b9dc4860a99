import { errorMessage } from '../domain/error.ts';
import { printable } from './output.ts';

/** What Temporal's SDK hands to a logger. */
export interface LogEntry {
  level: string;
  message: string;
  timestampNanos: bigint;
  meta?: Record<string | symbol, unknown>;
}

/** What every entry carries and no reader of a terminal needs. */
const NOISE: readonly string[] =
  'sdkComponent taskQueue namespace isLocal taskToken activityId workflowType durationMs sdk target workflowRunId runId'.split(' ');

/** What is said in its own place in the line. */
const SAID: readonly string[] = ['activityType', 'workflowId', 'attempt', 'error', 'stack'];

/** An entry of a log as one line; stacks and ids are in the Temporal UI. */
export function logLine({ level, message, timestampNanos, meta = {} }: LogEntry): string {
  const time = new Date(Number(timestampNanos / 1_000_000n)).toISOString();
  const rest = Object.fromEntries(Object.entries(meta).filter(([name]) => !NOISE.includes(name) && !SAID.includes(name)));
  const facts = [
    message,
    ...named('', meta['activityType']),
    ...named('run ', meta['workflowId']),
    ...named('attempt ', meta['attempt']),
    ...(Object.keys(rest).length === 0 ? [] : [asJson(rest)]),
    ...(meta['error'] === undefined ? [] : [errorMessage(meta['error'])]),
  ];
  return printable(`${time} ${level} ${facts.join(' · ')}`.replace(/\s*\n\s*/g, ' '));
}

function named(prefix: string, value: unknown): string[] {
  return typeof value === 'string' || typeof value === 'number' ? [`${prefix}${value}`] : [];
}

function asJson(value: object): string {
  try {
    return JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? String(member) : member));
  } catch {
    return '{…}';
  }
}
