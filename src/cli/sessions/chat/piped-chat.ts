import { printable, printableLine } from '../../../core/domain/content/printable.ts';
import type { DefaultOutput } from '../../../core/domain/run/result.ts';
import type { TurnResult } from '../../../client/sessions/turn-result.ts';
import type { SessionHandle } from '../../../client/sessions/session-handle.ts';
import { isTerminal } from '../../../core/domain/run/status.ts';
import { errorCode } from '../../../core/domain/errors/error.ts';
import { EXIT_CODES } from '../../exit-codes.ts';
import { tellWhatWaits } from '../../commands/waiting-notes.ts';
import type { Output } from '../../output.ts';
import type { CommandIo } from '../../program/command.ts';
import { turnText } from '../../render/turn-text.ts';
import { raiseHint } from '../raise-hint.ts';
import type { ChatFlags, OpenChat } from './open-chat.ts';
import { comeBackHint } from './chat-hints.ts';
import { readLine } from './entered-line.ts';
import { saySessionEnd, sessionEnd, type SessionEnd } from './session-end.ts';

/** Sends each line of stdin as a message, and prints the answer before it reads the next. Returns 0 at the end of the input. */
export async function pipedChat(io: CommandIo, flags: ChatFlags, open: OpenChat): Promise<number> {
  const { signal } = io.terminal;
  const sayHowToGoOn = (): void =>
    io.output.note(`To go on: ${printableLine(comeBackHint({ agent: flags.agent, sessionId: open.session.id }, flags, io.output))}`);
  signal.addEventListener('abort', sayHowToGoOn, { once: true });
  try {
    const end = await answerLines(io, flags, open);
    if (end === undefined) sayHowToGoOn();
    else saySessionEnd(end, flags, io.output);
    return end?.exitCode ?? EXIT_CODES.ok.code;
  } finally {
    signal.removeEventListener('abort', sayHowToGoOn);
  }
}

/** Answers the lines. Returns the end of the session if it ends with an error or a cancellation before the last answer. */
async function answerLines(io: CommandIo, flags: ChatFlags, { client, session }: OpenChat): Promise<SessionEnd | undefined> {
  const { output, terminal } = io;
  const { signal } = terminal;
  const { watchForWorker } = await import('../../../client/start/worker-watch.ts');
  for await (const line of pipedLines(terminal.stdin)) {
    signal.throwIfAborted();
    const entered = readLine(line);
    if (entered.type === 'exit') return undefined;
    if (entered.type !== 'message') continue;
    const ended = new AbortController();
    const waits = AbortSignal.any([ended.signal, signal]);
    void watchForWorker(client.temporal, session.id, waits, (notice) => output.note(printable(notice)));
    void tellWhatWaits(io, session.run, { flags, ended: waits });
    try {
      const answer = await answerOrEnd(session, entered.text, waits);
      if ('exitCode' in answer) return answer;
      printAnswer(answer, output);
    } catch (error) {
      if (errorCode(error) === 'session_limit') await sayHowToRaise(io, flags, session);
      throw error;
    } finally {
      ended.abort();
    }
  }
  return undefined;
}

/** The codes with which a question to a session ends that has ended. */
const ENDED: readonly (string | undefined)[] = ['run_ended', 'run_terminated', 'run_timed_out'];

/** Waits for the answer to a message, or for the end of a session that cannot answer it. */
async function answerOrEnd(session: SessionHandle, message: string, signal: AbortSignal): Promise<TurnResult<DefaultOutput> | SessionEnd> {
  try {
    const answer = await session.ask(message, { signal });
    if (answer.success || !isTerminal((await session.status()).status)) return answer;
    // A session that could not answer has given its own result.
    return await sessionEnd(session.run, signal);
  } catch (error) {
    if (!ENDED.includes(errorCode(error))) throw error;
    // The refusal of the message says more than the end of a session that was closed, or whose end cannot be read.
    const end = await sessionEnd(session.run, signal).catch(() => undefined);
    if (end === undefined || end.exitCode === EXIT_CODES.ok.code) throw error;
    return end;
  }
}

async function sayHowToRaise({ output }: CommandIo, flags: ChatFlags, session: SessionHandle): Promise<void> {
  const { session: view } = await session.status();
  const hint = view === undefined ? undefined : raiseHint(session.id, view, flags, output.program);
  if (hint !== undefined) output.note(`To raise it: ${printableLine(hint)}`);
}

function printAnswer(result: TurnResult<DefaultOutput>, output: Output): void {
  if (output.json) return output.printJson(result);
  if (result.outputText !== '') output.print(printable(result.outputText));
  if (result.success) return;
  const { turn, status, stopReason, error } = result;
  output.note(printableLine(turnText({ number: turn, status, stopReason, ...(error === null ? {} : { error }) }).text));
}

/** Yields the lines of an input that is no terminal, without their line breaks. The last one needs none. */
export async function* pipedLines(input: AsyncIterable<Uint8Array | string>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const chunk of input) {
    rest += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    const lines = rest.split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) yield line.replace(/\r$/, '');
  }
  rest += decoder.decode();
  if (rest !== '') yield rest.replace(/\r$/, '');
}
