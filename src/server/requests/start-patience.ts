import { withPatience } from '../../temporal/waiting.ts';

/** The time for which a start is tried if the server is down, in milliseconds: a caller reads within 5 seconds that it is. */
const PATIENCE_MS = 4_000;

/** Sends what a caller starts. Rejects with `server_unreachable` within 5 seconds if the server is down. */
export function soon<Result>(start: () => Promise<Result>): Promise<Result> {
  return withPatience(PATIENCE_MS, start);
}
