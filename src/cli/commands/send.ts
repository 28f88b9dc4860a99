import type { RunHandle } from '../../client/run-handle.ts';
import type { MessageMode } from '../../core/domain/content.ts';
import type { CommandIo, ServerFlags } from '../program/command.ts';
import { underId } from './request-id.ts';
import { textOrStdin } from './stdin-text.ts';
import { withRun } from '../with-run.ts';

/** The options of `longhaul send`. */
export interface SendFlags extends ServerFlags {
  runId: string;
  text: string;
  mode: MessageMode;
  id?: string;
}

/** Sends a message to a running run and prints the event and the step at which it is read. */
export async function send(io: CommandIo, flags: SendFlags): Promise<number> {
  const text = await textOrStdin(flags.text, io.terminal);
  return withRun(io, flags, async ({ client, runId }) => sendText(io, client.handle<unknown>(runId), { ...flags, text }));
}

/** Sends a message to the run of a handle. */
export async function sendText(
  { output }: CommandIo,
  run: Pick<RunHandle<unknown>, 'runId' | 'send'>,
  { text, mode, id: ownId }: SendFlags,
): Promise<number> {
  const receipt = await underId(ownId, (id) => run.send(text, { id, mode }));
  if (output.json) {
    output.printJson({ runId: run.runId, ...receipt });
    return 0;
  }
  const { id, status, offset, beforeStep } = receipt;
  if (status === 'duplicate') output.print(`Message "${id}" had been accepted before: nothing changes`);
  else output.print(`Message "${id}" is accepted: event ${offset ?? '?'} or later, read before step ${beforeStep ?? '?'}`);
  return 0;
}
