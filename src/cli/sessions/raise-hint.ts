import type { SessionView } from '../../core/domain/sessions/session-views.ts';
import { shellCommand } from '../../core/hints/shell-command.ts';
import type { ServerFlags } from '../program/command.ts';
import { serverOptions } from '../program/server-options.ts';

/** Returns the command that raises the limits which a session has reached, to copy into a shell. */
export function raiseHint(
  sessionId: string,
  { turns, limits }: Pick<SessionView, 'turns' | 'limits'>,
  flags: ServerFlags,
  program: string,
): string {
  const isAtTurns = limits.turns !== null && turns >= limits.turns;
  const options = isAtTurns ? ['--turns', String(2 * (limits.turns ?? 0))] : otherLimit(limits);
  return shellCommand('session raise', { operands: [sessionId], options: [...options, ...serverOptions(flags)], program });
}

/** Returns the option for the limit that a session has reached if it is not that of turns: tokens, else what it has besides them. */
function otherLimit({ totalTokens, costUsd, deadlineMs }: SessionView['limits']): string[] {
  if (totalTokens !== null && costUsd === null && deadlineMs === null) return ['--tokens', String(2 * totalTokens)];
  return [
    ...(totalTokens === null ? [] : ['--tokens', String(2 * totalTokens)]),
    ...(costUsd === null ? [] : ['--cost', String(2 * costUsd)]),
    ...(deadlineMs === null ? [] : ['--deadline', 'none']),
  ];
}
