import { utf8Prefix } from './text.ts';
import { whyUnreadable } from './unreadable.ts';

/** The reason may be forged, and is repeated to the sender. */
const REASON_BYTES = 1_000;

/** Why a run can do nothing with a value that came from outside, whatever it is meant for; undefined where it can be looked at. */
export function givenProblem(value: unknown): string | undefined {
  const why = whyUnreadable(value);
  return why === undefined ? undefined : `it cannot be read: ${utf8Prefix(why, REASON_BYTES)}`;
}
