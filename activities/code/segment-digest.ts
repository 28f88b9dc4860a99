import { createHash } from 'node:crypto';
import { canonicalJson, type JsonValue } from '../../src/core/domain/json/json.ts';
import type { Moment, Segment } from '../../src/core/execution/executor.ts';

/** 132 bits in base64url, as in the digest of a call. */
const DIGEST_LENGTH = 22;

/** Returns the digest that the segments of a cell begin with. */
export function cellDigest(code: string, { now, seed }: Moment): string {
  return digestOf({ code, now, seed });
}

/**
 * Returns the digest of a segment: of its calls, of what it printed, and at the end of a cell also of its final answer and its error. It
 * is bound to the cell and the segments before by `before`, their digest.
 */
export function segmentDigest(before: string, segment: Segment): string {
  if (segment.type === 'calls') {
    const calls = segment.calls.map(({ tool, arguments: args }): JsonValue => [tool, args]);
    return digestOf({ before, calls, output: segment.output });
  }
  const { output, isFinal, finalValue, error } = segment.result;
  return digestOf({
    before,
    output,
    ...(isFinal ? { final: finalValue } : {}),
    ...(error === null ? {} : { error: [error.kind, error.message] }),
  });
}

function digestOf(value: JsonValue): string {
  return createHash('sha256').update(canonicalJson(value)).digest('base64url').slice(0, DIGEST_LENGTH);
}
