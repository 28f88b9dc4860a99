import { isNestedDeeper } from './nesting.ts';
import { utf8Prefix } from './text.ts';
import { whyUnreadable } from './unreadable.ts';

/** Levels that what comes to a run may be nested: what handles it recursively would overflow the stack at some thousands. */
const MAX_LEVELS = 1_000;

/** The reason may be forged, and is repeated to the sender. */
const REASON_BYTES = 1_000;

/** Why a run can do nothing with a value that came from outside, whatever it is meant for; undefined where it can be looked at. */
export function givenProblem(value: unknown): string | undefined {
  const why = whyUnreadable(value);
  if (why !== undefined) return `it cannot be read: ${utf8Prefix(why, REASON_BYTES)}`;
  return isNestedDeeper(value, MAX_LEVELS) ? `it is nested deeper than ${MAX_LEVELS} levels` : undefined;
}
