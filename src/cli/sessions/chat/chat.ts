import type { CommandIo } from '../../program/command.ts';
import { withClient } from '../../with-client.ts';
import { streamedItems, liveService } from '../../live/streamed-items.ts';
import { type ChatFlags, type OpenChat, openChat } from './open-chat.ts';
import { pipedChat } from './piped-chat.ts';
import { terminalChat } from './terminal-chat.ts';

/**
 * Talks to a session, which goes on when the person leaves: on a terminal with prompts, decisions in place and interrupts; otherwise
 * line by line from stdin, with the answers on stdout.
 */
export async function chat(io: CommandIo, flags: ChatFlags): Promise<number> {
  return withClient(io, flags, async ({ client, server }) => {
    const service = liveService(io.terminal.env, server.address);
    const live: Pick<OpenChat, 'live'> = service === undefined ? {} : { live: (runId, signal) => streamedItems(service, runId, signal) };
    const open = { ...(await openChat(client, flags)), ...live };
    const { interactive } = io.terminal;
    return interactive === undefined || io.output.json ? pipedChat(io, flags, open) : terminalChat(io, flags, { ...open, interactive });
  });
}
