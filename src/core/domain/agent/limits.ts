import type { StopReason } from '../run/run-status.ts';

/** The limits of a run: what it may use before it is stopped. What is left out is not limited. */
export interface RunLimits {
  /** Steps. The default is 10. */
  maxIterations: number;
  /** After the last step, ask once more for a final answer, without tools. The status stays `max_iterations_reached`. */
  finalAttempt: boolean;
  /** Tool calls that may start, of all tools together. */
  toolCalls?: number;
  /** Tool calls that may start, by the name of the tool. */
  toolCallsByName?: Record<string, number>;
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  /** US dollars, by the prices of the snapshot. */
  costUsd?: number;
  /** Milliseconds from the start of the run. */
  deadlineMs?: number;
  /** At a limit a person is asked to raise it. Absent: the run ends. */
  onLimit?: 'ask';
}

/** Limits that can be changed while a run goes on. */
export type LimitChanges = Partial<Omit<RunLimits, 'finalAttempt' | 'onLimit'>>;

/** Somebody raised limits of a run. */
export interface LimitRaise {
  /** The caller's own. */
  id: string;
  limits: LimitChanges;
  /** As claimed. */
  by: string | null;
  /** ISO 8601. */
  at: string;
}

/** A limit that a run has come to. */
export interface LimitReached {
  stopReason: Exclude<StopReason, 'final_answer' | 'cancelled' | 'error'>;
  /** For a person: which limit, and how far the run has come. */
  message: string;
  /** What would let the run go on: the limit raised by as much again. */
  proposal: LimitChanges;
}
