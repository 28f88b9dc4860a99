import { type SessionLimitReached, sessionTotals, type SessionView } from '../../core/domain/sessions.ts';
import { shellCommand } from '../../core/domain/text.ts';
import type { ServerFlags } from '../program/command.ts';
import { serverOptions } from '../program/server-options.ts';

/** Returns the command that raises the limit which a session has reached, to copy into a shell; undefined if there is none. */
export function raiseHint(
  sessionId: string,
  session: Pick<SessionView, 'turns' | 'limits' | 'spent' | 'limitReached'>,
  flags: ServerFlags,
  program: string,
): string | undefined {
  if (session.limitReached === undefined) return undefined;
  const options = [...raised(session.limitReached.limit, session), ...serverOptions(flags)];
  return shellCommand('session raise', { operands: [sessionId], options, program });
}

/** Returns the option with twice the limit, or twice what is used of it: the last turn may have used much more than was left. */
function raised(limit: SessionLimitReached['limit'], { turns, limits, spent }: Pick<SessionView, 'turns' | 'limits' | 'spent'>): string[] {
  const { tokens, cost } = sessionTotals(spent);
  switch (limit) {
    case 'turns':
      return ['--turns', String(2 * Math.max(limits.turns ?? 0, turns))];
    case 'totalTokens':
      return ['--tokens', String(2 * Math.max(limits.totalTokens ?? 0, tokens))];
    case 'costUsd':
      return ['--cost', String(Math.ceil(200 * Math.max(limits.costUsd ?? 0, cost)) / 100)];
    case 'deadline':
      return ['--deadline', 'none'];
  }
}
