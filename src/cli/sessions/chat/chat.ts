import type { CommandIo } from '../../program/command.ts';
import { withClient } from '../../with-client.ts';
import { type ChatFlags, openChat } from './open-chat.ts';
import { pipedChat } from './piped-chat.ts';
import { terminalChat } from './terminal-chat.ts';

/**
 * Talks to a session, which goes on when the person leaves: on a terminal with prompts, decisions in place and interrupts; otherwise
 * line by line from stdin, with the answers on stdout.
 */
export async function chat(io: CommandIo, flags: ChatFlags): Promise<number> {
  return withClient(io, flags, async ({ client }) => {
    const open = await openChat(client, flags);
    const { interactive } = io.terminal;
    return interactive === undefined || io.output.json ? pipedChat(io, flags, open) : terminalChat(io, flags, { ...open, interactive });
  });
}
