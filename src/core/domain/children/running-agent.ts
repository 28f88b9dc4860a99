import type { LimitChanges } from '../agent/limits.ts';

/** An agent that runs as the child of a tool call. */
export interface RunningAgent {
  /** The call: the id of its event, and its index in the content of that event. */
  eventId: string;
  index: number;
  runId: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The last time at which it was known to be alive, in milliseconds since the epoch. */
  seenAt: number;
  /** The part of the limits of the run that it has been given. Absent if the run shares no limit with it. */
  given?: LimitChanges;
  /** The number of runs that it may start itself, with those below them. */
  runs: number;
  /** The turn that is waited for, if the agent is kept between calls. 1-based. */
  turn?: number;
}
