import { createHash } from 'node:crypto';
import type { StreamedAttempt } from '../../core/domain/stream/stream-entry.ts';

/** The attempts that a reader has seen in flight, each with the index of the delta that comes next. */
export type SeenAttempts = Map<string, number>;

const PREFIX = 'h1:';
const ATTEMPT = /^([\w-]{16})\.(0|[1-9]\d{0,14})$/;

/** Returns the key of an attempt of a run. It is short, because a position names every attempt in flight. */
export function attemptKey(runId: string, { executionId, eventId, callId, attempt }: StreamedAttempt): string {
  const text = JSON.stringify([runId, executionId, eventId, callId ?? null, attempt]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

/** Writes a position. */
export function writePosition(seen: SeenAttempts): string {
  return PREFIX + [...seen].map(([key, next]) => `${key}.${next}`).join(',');
}

/** Reads a position; undefined for one of another sink. */
export function readPosition(position: string): SeenAttempts | undefined {
  if (!position.startsWith(PREFIX)) return undefined;
  const seen: SeenAttempts = new Map();
  for (const part of position.slice(PREFIX.length).split(',')) {
    if (part === '') continue;
    const [, key, next] = ATTEMPT.exec(part) ?? [];
    if (key === undefined) return undefined;
    seen.set(key, Number(next));
  }
  return seen;
}
