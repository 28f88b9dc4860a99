import type { RunStatus } from '../run/status.ts';
import type { Delta } from './delta.ts';

/** One attempt of a call whose output is streamed: of a model call, or of a tool. */
export interface StreamedAttempt {
  /** The Temporal run id of the execution that made the call. */
  executionId: string;
  /**
   * The id of the event that will hold the answer of this attempt of a model call. For a tool, the id of the event with the call; the
   * event with the result of `callId` replaces what it has emitted.
   */
  eventId: string;
  /** The id of the tool call, or the address of the step of a program. Absent for the model call of an agent, which makes one at a time. */
  callId?: string;
  /** The number of events that the run had recorded when the call was scheduled. Absent for a step of a program: others may run beside it. */
  through?: number;
  /** The sequence number of the activity in its execution: it orders the attempts of a call that is scheduled again. */
  activity: number;
  /** The attempt of that activity, 1-based. */
  attempt: number;
}

/** True if an attempt was made before another one of the same execution. */
export function isBefore(
  one: Pick<StreamedAttempt, 'activity' | 'attempt'>,
  other: Pick<StreamedAttempt, 'activity' | 'attempt'>,
): boolean {
  return one.activity < other.activity || (one.activity === other.activity && one.attempt < other.attempt);
}

/** A fact about a run that a worker publishes for its readers. None of it enters history, and any of it may get lost. */
export type StreamEntry =
  /** An attempt of a model call begins: it takes back what earlier attempts of the call have streamed. */
  | { type: 'attempt'; of: StreamedAttempt }
  /** A piece of output. `index` counts the deltas of the attempt from 0: a reader that misses one knows. */
  | { type: 'delta'; of: StreamedAttempt; index: number; delta: Delta }
  /** The run has recorded something, or its status has changed: readers ask it for what is new. `events` and `steps` are totals. */
  | { type: 'recorded'; executionId: string; events: number; steps: number; status: RunStatus };
