import type { SessionLimits } from '../sessions/session-limits.ts';
import type { StopReason } from '../run/status.ts';

/** The limits of a run. An absent field is no limit. */
export interface RunLimits {
  /** The number of steps. Default 10. */
  steps: number;
  /**
   * True: after the last step, the model is asked once more for a final answer, without tools. The status stays
   * `max_iterations_reached`.
   */
  finalAttempt: boolean;
  /** The number of tool calls that may start, of all tools together. */
  toolCalls?: number;
  /** The number of tool calls that may start, by the name of the tool. */
  toolCallsByName?: Record<string, number>;
  inputTokens?: number;
  outputTokens?: number;
  totalTokens?: number;
  /** US dollars, by the prices of the snapshot. */
  costUsd?: number;
  /** Milliseconds from the start of the run. */
  deadlineMs?: number;
  /** A person is asked to raise a limit that is reached. Absent: the run ends. */
  onLimit?: 'ask';
}

/** The limit of steps for an agent that sets none. */
export const DEFAULT_STEPS = 10;

/** Limits that can be changed while a run goes on. */
export type LimitChanges = Partial<LimitValues>;

/** The limits that a run had at its end. An absent field is no limit. */
export type LimitValues = Omit<RunLimits, 'finalAttempt' | 'onLimit'>;

/** One raise of limits by a caller. */
export interface LimitRaise {
  /** The id that the caller chose. */
  id: string;
  limits: LimitChanges;
  /** Limits of the whole session. */
  session?: SessionLimits;
  /** The caller's name, as claimed and not verified. */
  by: string | null;
  /** ISO 8601. */
  at: string;
}

/** A limit that a run has reached. */
export interface LimitReached {
  stopReason: Exclude<StopReason, 'final_answer' | 'closed' | 'cancelled' | 'error'>;
  /** The limit and the amount used, for a person to read. */
  message: string;
  /** The change that would let the run go on: it raises the limit by its own size. */
  proposal: LimitChanges;
}

/** Returns the limits of a run without what it does at one. */
export function limitValues({ finalAttempt: _, onLimit: __, ...limits }: RunLimits): LimitValues {
  return limits;
}
