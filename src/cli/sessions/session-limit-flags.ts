import type { SessionLimitOptions } from '../../client/session-options.ts';
import type { Duration } from '../../core/domain/time.ts';

/** The flags that set limits of a whole session. `none`: no limit. */
export interface SessionLimitFlags {
  turns?: number | 'none';
  tokens?: number | 'none';
  cost?: number | 'none';
  deadline?: Duration | 'none';
}

/** Returns the limits that the flags set. */
export function sessionLimitOptions({ turns, tokens, cost, deadline }: SessionLimitFlags): SessionLimitOptions {
  return {
    ...(turns === undefined ? {} : { turns: limitIn(turns) }),
    ...(tokens === undefined ? {} : { totalTokens: limitIn(tokens) }),
    ...(cost === undefined ? {} : { costUsd: limitIn(cost) }),
    ...(deadline === undefined ? {} : { deadline: limitIn(deadline) }),
  };
}

function limitIn<Limit>(flag: Limit | 'none'): Limit | null {
  return flag === 'none' ? null : flag;
}
