import { printable, printableLine } from '../../../core/domain/content/printable.ts';
import type { DefaultOutput } from '../../../core/domain/run/result.ts';
import type { TurnResult } from '../../../client/sessions/turn-result.ts';
import { tellWhatWaits } from '../../commands/waiting-notes.ts';
import type { Output } from '../../output.ts';
import type { CommandIo } from '../../program/command.ts';
import { turnText } from '../../render/turn-text.ts';
import type { ChatFlags, OpenChat } from './open-chat.ts';
import { comeBackHint } from './chat-hints.ts';
import { readLine } from './entered-line.ts';
import { pipedLines } from './piped-lines.ts';

/** Sends each line of stdin as a message, and prints the answer before it reads the next. Returns 0 at the end of the input. */
export async function pipedChat(io: CommandIo, flags: ChatFlags, open: OpenChat): Promise<number> {
  const { signal } = io.terminal;
  const sayHowToGoOn = (): void =>
    io.output.note(`To go on: ${printableLine(comeBackHint({ agent: flags.agent, sessionId: open.session.id }, flags, io.output))}`);
  signal.addEventListener('abort', sayHowToGoOn, { once: true });
  try {
    await answerLines(io, flags, open);
    sayHowToGoOn();
    return 0;
  } finally {
    signal.removeEventListener('abort', sayHowToGoOn);
  }
}

async function answerLines(io: CommandIo, flags: ChatFlags, { client, session }: OpenChat): Promise<void> {
  const { output, terminal } = io;
  const { signal } = terminal;
  const { watchForWorker } = await import('../../../client/start/worker-watch.ts');
  for await (const line of pipedLines(terminal.stdin)) {
    signal.throwIfAborted();
    const entered = readLine(line);
    if (entered.type === 'exit') return;
    if (entered.type !== 'message') continue;
    const over = new AbortController();
    const waits = AbortSignal.any([over.signal, signal]);
    void watchForWorker(client.temporal, session.id, waits, (notice) => output.note(printable(notice)));
    void tellWhatWaits(io, session.run, { flags, over: waits });
    try {
      printAnswer(await session.ask(entered.text, { signal }), output);
    } finally {
      over.abort();
    }
  }
}

function printAnswer(result: TurnResult<DefaultOutput>, output: Output): void {
  if (output.json) return output.printJson(result);
  if (result.outputText !== '') output.print(printable(result.outputText));
  if (result.success) return;
  const { turn, status, stopReason, error } = result;
  output.note(printableLine(turnText({ number: turn, status, stopReason, ...(error === null ? {} : { error }) }).text));
}
