import type { CommandIo } from '../../program/command.ts';
import { withClient } from '../../with-client.ts';
import { streamedItems, liveService, type LiveService, whyNoService } from '../../live/streamed-items.ts';
import { type ChatFlags, type OpenChat, openChat } from './open-chat.ts';
import { pipedChat } from './piped-chat.ts';
import { terminalChat } from './terminal-chat.ts';

/** Returns the stream of a chat; without one, or once it turns out that there is none, the person is told why the answers come whole. */
function liveText({ output, terminal }: CommandIo, service: LiveService | undefined): Pick<OpenChat, 'live'> {
  let isTold = false;
  const tell = (reason: string): void => {
    if (!isTold) output.note(output.look('dim', `Answers come whole, at their end: ${reason}.`));
    isTold = true;
  };
  if (service !== undefined) return { live: (runId, signal) => streamedItems(service, runId, signal, tell) };
  tell(whyNoService(terminal.env));
  return {};
}

/**
 * Talks to a session, which goes on when the person leaves: on a terminal with prompts, decisions in place and interrupts; otherwise
 * line by line from stdin, with the answers on stdout.
 */
export async function chat(io: CommandIo, flags: ChatFlags): Promise<number> {
  return withClient(io, flags, async ({ client, server }) => {
    const { env, interactive } = io.terminal;
    const open = await openChat(client, flags);
    if (interactive === undefined || io.output.json) return pipedChat(io, flags, open);
    return terminalChat(io, flags, { ...open, ...liveText(io, liveService(env, server.address)), interactive });
  });
}
