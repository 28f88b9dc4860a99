import { depthProblem, isTooDeep, MAX_CHECKED_DEPTH } from './json-depth.ts';
import { utf8Prefix } from '../content/text.ts';
import { whyUnreadable } from './unreadable.ts';

/** The reason may be forged, and is repeated to the sender. */
const REASON_BYTES = 1_000;

/** Says why a run can do nothing with a value that came from outside; undefined if it can be looked at. */
export function givenProblem(value: unknown): string | undefined {
  const why = whyUnreadable(value);
  if (why !== undefined) return `it cannot be read: ${utf8Prefix(why, REASON_BYTES)}`;
  return isTooDeep(value, MAX_CHECKED_DEPTH) ? depthProblem(value) : undefined;
}
