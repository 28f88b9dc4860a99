/** The limits of a whole session. `null`: no limit. */
export interface SessionLimits {
  /** The number of turns. Default 10. */
  turns?: number | null;
  /** Prompt and completion tokens of all turns together. Default 200,000. */
  totalTokens?: number | null;
  /** US dollars. Default: no limit. */
  costUsd?: number | null;
  /** Milliseconds from the start of the session. Default: no limit. */
  deadlineMs?: number | null;
}

/** The limits of a session that names none. */
export const DEFAULT_SESSION_LIMITS = { turns: 10, totalTokens: 200_000, costUsd: null, deadlineMs: null } as const;
