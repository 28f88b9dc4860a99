import { depthProblem, isTooDeep, MAX_CHECKED_DEPTH } from './json-depth.ts';
import { utf8Prefix } from '../content/text.ts';
import { whyUnreadable } from './unreadable.ts';

/** Bytes of a reason that are repeated to the sender, who may have forged it. */
const REASON_BYTES = 1_000;

/** Explains why a run cannot use a value that it received; undefined if the value can be read and is not nested too deeply. */
export function inboundProblem(value: unknown): string | undefined {
  const why = whyUnreadable(value);
  if (why !== undefined) return `it cannot be read: ${utf8Prefix(why, REASON_BYTES)}`;
  return isTooDeep(value, MAX_CHECKED_DEPTH) ? depthProblem(value) : undefined;
}
