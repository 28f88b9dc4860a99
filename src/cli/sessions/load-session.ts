import { shellCommand } from '../../core/domain/text.ts';
import type { SavedContext } from '../../core/saved/saved-context.ts';
import { readJson } from '../commands/programs/program-file.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { serverOptions } from '../program/server-options.ts';
import { withClient } from '../with-client.ts';

/** The options of `longhaul session load`. */
export interface LoadSessionFlags extends ServerFlags {
  sessionId: string;
  /** The file of a saved context; `-` is stdin. */
  file: string;
  agent: string;
  title?: string;
}

/** Begins a session with the conversation and the deps of a saved context. It waits for its first message. */
export async function loadSession(io: CommandIo, { sessionId, file, agent, title, ...flags }: LoadSessionFlags): Promise<number> {
  const { output, terminal } = io;
  const saved = (await readJson(file, 'saved context', terminal)) as SavedContext;
  return withClient(io, flags, async ({ client }) => {
    await client.loadSession(agent, saved, { id: sessionId, ...(title === undefined ? {} : { title }) });
    if (output.json) output.printJson({ sessionId, agentName: agent });
    else output.print(`Session "${sessionId}" has begun`);
    const options = ['--session', sessionId, ...serverOptions(flags)];
    output.note(`To talk to it: ${shellCommand('chat', { operands: [agent], options, program: output.program })}`);
    return 0;
  });
}
