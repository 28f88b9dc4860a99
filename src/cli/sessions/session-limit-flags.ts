import type { SessionLimitOptions } from '../../client/sessions/session-options.ts';
import type { Duration } from '../../core/domain/run/duration.ts';

/** The flags that set limits of a whole session. `null`: no limit. */
export interface SessionLimitFlags {
  turns?: number | null;
  tokens?: number | null;
  cost?: number | null;
  deadline?: Duration | null;
}

/** Returns the limits that the flags set. */
export function sessionLimitOptions({ turns, tokens, cost, deadline }: SessionLimitFlags): SessionLimitOptions {
  return {
    ...(turns === undefined ? {} : { turns }),
    ...(tokens === undefined ? {} : { totalTokens: tokens }),
    ...(cost === undefined ? {} : { costUsd: cost }),
    ...(deadline === undefined ? {} : { deadline }),
  };
}
