import { shellCommand } from '../../../core/hints/shell-command.ts';
import type { Output } from '../../output.ts';
import type { ServerFlags } from '../../program/command.ts';
import { serverOptions } from '../../program/server-options.ts';

/** Returns the command that goes on with a conversation, to copy into a shell. */
export function comeBackHint(
  { agent, sessionId }: { agent: string; sessionId: string },
  flags: ServerFlags,
  { program }: Pick<Output, 'program'>,
): string {
  const queue = flags.taskQueue === undefined ? [] : ['--task-queue', flags.taskQueue];
  return shellCommand('chat', { operands: [agent], options: ['--session', sessionId, ...queue, ...serverOptions(flags)], program });
}
