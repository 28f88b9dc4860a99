import { createInterface, type Interface } from 'node:readline';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { SessionHandle, TurnResult } from '../../client/session-handle.ts';
import { defined } from '../../core/domain/json.ts';
import { errorCode, errorMessage, UsageError } from '../../core/domain/errors.ts';
import type { DefaultOutput } from '../../core/domain/result.ts';
import { isTerminal } from '../../core/domain/run.ts';
import type { SessionView } from '../../core/domain/sessions.ts';
import { printable, printableLine, shellCommand } from '../../core/domain/text.ts';
import { isCut, serverOptions, wholeRunId, withClient } from '../command.ts';
import type { CommandIo, ServerFlags } from '../define-command.ts';
import { exchangeLines, newestExchanges, raiseHint } from '../commands/sessions.ts';
import { EXIT_CODES } from '../exit-codes.ts';
import { factLines, type Output } from '../output.ts';
import { noteWaitingApprovals } from '../render/approvals.ts';
import { turnText } from '../render/event-lines.ts';
import { sessionFacts } from '../render/run-view.ts';
import { type LiveService, liveService, streamedItems, whyNoService } from '../render/live.ts';
import type { InteractiveStreams } from '../terminal.ts';
import { Conversation, type Followed, type OpenChat, openChat, saySessionEnd, type SessionEnd, sessionEnd } from './conversation.ts';
import { CHAT_HELP, Interruptions, type Lines, type Reaction, readLine } from './input.ts';
import type { ChatFlags } from '../session-commands.ts';

/** Returns the stream of a chat. Without one, tells the person why answers arrive as a whole. */
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
 * Talks to a session, which stays open when the person leaves: on a terminal with prompts, decisions in place and interrupts; otherwise
 * line by line from stdin, with the answers on stdout.
 */
export async function chat(io: CommandIo, flags: ChatFlags): Promise<number> {
  return withClient(io, flags, async ({ client, server }) => {
    const { env, interactive } = io.terminal;
    const open = await openChat(client, await withWholeSession(io, client, flags));
    if (interactive === undefined || io.output.json) return pipedChat(io, flags, open);
    return terminalChat(io, flags, { ...open, ...liveText(io, liveService(env, server.address)), interactive });
  });
}

/** Completes an id that a list has cut. An id without the ellipsis is used unchanged, because a chat may begin a session with it. */
async function withWholeSession(io: CommandIo, client: LonghaulClient, flags: ChatFlags): Promise<ChatFlags> {
  const { session } = flags;
  if (session === undefined || !isCut(session)) return flags;
  const whole = await wholeRunId(io, client, { ...flags, runId: session });
  if (isCut(whole)) {
    const list = shellCommand('sessions', { operands: [], options: serverOptions(flags), program: io.output.program });
    throw new UsageError(printableLine(`No session begins with "${session.slice(0, -1)}": list the sessions with ${list}`));
  }
  return { ...flags, session: whole };
}

/** Sends each line of stdin as a message, and prints the answer before it reads the next. Returns 0 at the end of the input. */
async function pipedChat(io: CommandIo, flags: ChatFlags, open: OpenChat): Promise<number> {
  const { signal } = io.terminal;
  const sayHowToContinue = (): void =>
    io.output.note(`To continue: ${printableLine(comeBackHint({ agent: flags.agent, sessionId: open.session.id }, flags, io.output))}`);
  signal.addEventListener('abort', sayHowToContinue, { once: true });
  try {
    const end = await answerLines(io, flags, open);
    if (end === undefined) sayHowToContinue();
    else saySessionEnd(end, flags, io.output);
    return end?.exitCode ?? EXIT_CODES.ok.code;
  } finally {
    signal.removeEventListener('abort', sayHowToContinue);
  }
}

/** Answers the lines. Returns the end of the session if it ends with an error or a cancellation before the last answer. */
async function answerLines(io: CommandIo, flags: ChatFlags, { client, session }: OpenChat): Promise<SessionEnd | undefined> {
  const { output, terminal } = io;
  const { signal } = terminal;
  const { watchForWorker } = await import('../../client/missing-workers.ts');
  for await (const line of pipedLines(terminal.stdin)) {
    signal.throwIfAborted();
    const entered = readLine(line);
    if (entered.type === 'exit') return undefined;
    if (entered.type !== 'message') continue;
    const ended = new AbortController();
    const waits = AbortSignal.any([ended.signal, signal]);
    void watchForWorker(client.temporal, session.id, waits, (notice) => output.note(printable(notice)));
    void noteWaitingApprovals(io, session.run, { flags, ended: waits });
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

/** The error codes of messages to a session that has ended. */
const ENDED: readonly (string | undefined)[] = ['run_ended', 'run_terminated', 'run_timed_out'];

/** Waits for the answer to a message, or for the end of a session that cannot answer it. */
async function answerOrEnd(session: SessionHandle, message: string, signal: AbortSignal): Promise<TurnResult<DefaultOutput> | SessionEnd> {
  try {
    const answer = await session.ask(message, { signal });
    if (answer.success || !isTerminal((await session.status()).status)) return answer;
    // A session that could not answer has returned its own result.
    return await sessionEnd(session.run, signal);
  } catch (error) {
    if (!ENDED.includes(errorCode(error))) throw error;
    // If the session was closed or its end cannot be read, the refusal of the message says more.
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

/** Yields the lines of an input that is not a terminal, without their line breaks. The last line may lack one. */
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

/** The number of exchanges that are shown to a person who returns. */
const SHOWN_EXCHANGES = 3;

/** Talks to a session on a terminal until the person leaves or the session is closed. Returns the exit code. */
async function terminalChat(io: CommandIo, flags: ChatFlags, open: OpenChat & { interactive: InteractiveStreams }): Promise<number> {
  const lines = new TerminalLines(open.interactive);
  try {
    return await new TerminalChat(io, flags, open, lines).talk();
  } finally {
    lines.close();
  }
}

/** One conversation on a terminal, from its beginning or from where it was left. */
export class TerminalChat {
  readonly #io: CommandIo;
  readonly #flags: ChatFlags;
  readonly #open: OpenChat;
  readonly #lines: Lines;
  readonly #interruptions: Interruptions;
  readonly #conversation: Conversation;
  /** True once the session exists or may exist, since a message was sent to it. */
  #hasBegun: boolean;

  constructor(io: CommandIo, flags: ChatFlags, open: OpenChat, lines: Lines) {
    this.#io = io;
    this.#flags = flags;
    this.#open = open;
    this.#lines = lines;
    this.#interruptions = new Interruptions(lines);
    const { session, status, live } = open;
    this.#hasBegun = status !== undefined;
    const from = status?.events ?? 0;
    const parts = { io, flags, session, lines, interruptions: this.#interruptions, from };
    this.#conversation = new Conversation({ ...parts, ...defined({ live }) });
  }

  /** Talks until the person leaves or the session is closed. Returns the exit code. */
  async talk(): Promise<number> {
    const { output } = this.#io;
    output.note(output.look('dim', `Session ${printableLine(this.#open.session.id)}. /help shows what you can enter.`));
    const end = await Promise.race([this.#converse(), this.#interruptions.left]);
    this.#conversation.end();
    if (end !== 'left') return end;
    this.#sayLeft();
    return 0;
  }

  async #converse(): Promise<number | 'left'> {
    let followed = await this.#comeBack();
    while (followed === 'continue') followed = await this.#exchange();
    if (followed === 'left') return 'left';
    const end = await sessionEnd(this.#open.session.run);
    if (this.#interruptions.hasLeft) return 'left';
    saySessionEnd(end, this.#flags, this.#io.output);
    return end.exitCode;
  }

  #sayLeft(): void {
    const { output } = this.#io;
    if (!this.#hasBegun) return output.note('The session has not begun: there was no message.');
    if (this.#conversation.isUnanswered('message')) output.note('The session may have taken the message: it answers it then.');
    if (this.#conversation.isUnanswered('interruption'))
      output.note('The session has not answered the interruption: the turn may continue.');
    output.note(`The session continues. To come back: ${printableLine(this.#comeBackHint)}`);
  }

  /** Shows the last exchanges of an existing session, and the turn in progress. */
  async #comeBack(): Promise<Followed> {
    const { status, session } = this.#open;
    if (status === undefined) return 'continue';
    // The first message waits for a worker that has the agent.
    if (status.session === undefined) return status.queued > 0 ? this.#ended(await this.#conversation.follow(1)) : 'continue';
    const { output } = this.#io;
    for (const exchange of await newestExchanges(session.run, { events: status.events, count: SHOWN_EXCHANGES })) {
      for (const line of [...exchangeLines(exchange, output), '']) output.print(line);
    }
    this.#sayLimit(status.session);
    const { turn } = status.session;
    if (turn === undefined) return 'continue';
    output.note(`Turn ${turn} is running.`);
    return this.#ended(await this.#conversation.follow(turn));
  }

  /** Prompts for a line, and executes it. */
  async #exchange(): Promise<Followed> {
    const { output } = this.#io;
    const reaction = await this.#lines.ask(output.look('bold', '> '));
    if (reaction.type !== 'line') return 'left';
    const entered = readLine(reaction.text);
    switch (entered.type) {
      case 'nothing':
        return 'continue';
      case 'exit':
        return 'left';
      case 'help':
        for (const line of CHAT_HELP) output.print(`  ${line}`);
        return 'continue';
      case 'status':
        await this.#printStatus();
        return 'continue';
      case 'unknown':
        output.note(`There is no ${printableLine(entered.command)}: /help lists the commands`);
        return 'continue';
      case 'message':
        return this.#say(entered.text);
    }
  }

  async #say(text: string): Promise<Followed> {
    const { client, session } = this.#open;
    const { output, terminal } = this.#io;
    this.#hasBegun = true;
    const ended = new AbortController();
    const { watchForWorker } = await import('../../client/missing-workers.ts');
    const watched = AbortSignal.any([ended.signal, terminal.signal]);
    void watchForWorker(client.temporal, session.id, watched, (notice) => output.note(printable(notice)));
    try {
      return this.#ended(await this.#conversation.say(text));
    } catch (error) {
      if (this.#interruptions.hasLeft) return 'left';
      // A message that is refused, or that reaches no server, does not end the conversation.
      if (errorCode(error) === undefined) throw error;
      if (errorCode(error) === 'session_limit') this.#sayLimit((await session.status()).session);
      else output.note(output.look('red', printable(errorMessage(error))));
      return errorCode(error) === 'run_ended' ? 'closed' : 'continue';
    } finally {
      ended.abort();
    }
  }

  /** Leaves a blank line after a turn. */
  #ended(followed: Followed): Followed {
    if (followed === 'continue') this.#io.output.print('');
    return followed;
  }

  /** Says that a limit of the session is reached, and how it is raised. */
  #sayLimit(session: SessionView | undefined): void {
    const { output } = this.#io;
    const hint = session === undefined ? undefined : raiseHint(this.#open.session.id, session, this.#flags, output.program);
    if (hint === undefined) return;
    output.note(`The session has reached a limit: ${session?.limitReached?.message}. To raise it:`);
    output.note(`  ${output.look('cyan', printableLine(hint))}`);
  }

  async #printStatus(): Promise<void> {
    const { output } = this.#io;
    try {
      const { status, session, startTime } = await this.#open.session.status();
      const facts = session === undefined ? [] : sessionFacts(session, startTime);
      const state = isTerminal(status) ? `closed (${status})` : status;
      for (const line of factLines([['Status', state], ...facts], output)) output.print(`  ${line}`);
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      if (code === 'run_not_found') output.note('The session begins with your first message.');
      else output.note(output.look('red', printable(errorMessage(error))));
    }
  }

  get #comeBackHint(): string {
    const { agent } = this.#flags;
    return comeBackHint({ agent, sessionId: this.#open.session.id }, this.#flags, this.#io.output);
  }
}

/**
 * The lines that are entered on a terminal, with editing and a history. The terminal always stays in raw mode, so that Ctrl-C is a
 * key and does not end the process; lines that are entered without a prompt wait for the next one.
 */
export class TerminalLines implements Lines {
  readonly #output: InteractiveStreams['output'];
  readonly #readline: Interface;
  readonly #entered: string[] = [];
  #asked: { react: (reaction: Reaction) => void; fresh: boolean } | undefined;
  #interrupted: (by: 'interrupt' | 'end') => void = () => undefined;
  #isOver = false;

  constructor({ input, output }: InteractiveStreams) {
    this.#output = output;
    this.#readline = createInterface({ input, output, terminal: true, prompt: '' });
    this.#readline.on('line', (text) => {
      if (!this.#settle({ type: 'line', text })) this.#entered.push(text);
    });
    this.#readline.on('SIGINT', () => this.#pressed());
    this.#readline.on('close', () => {
      this.#isOver = true;
      if (!this.#settle({ type: 'end' })) this.#interrupted('end');
    });
  }

  ask(prompt: string, { fresh = false }: { fresh?: boolean } = {}): Promise<Reaction> {
    if (fresh) this.#forget();
    const text = this.#entered.shift();
    if (text !== undefined) {
      this.#output.write(`${prompt}${text}\n`);
      return Promise.resolve({ type: 'line', text });
    }
    if (this.#isOver) return Promise.resolve({ type: 'end' });
    this.#readline.setPrompt(prompt);
    this.#readline.prompt(true);
    return new Promise((react) => (this.#asked = { react, fresh }));
  }

  onInterruption(listener: (by: 'interrupt' | 'end') => void): void {
    this.#interrupted = listener;
  }

  close(): void {
    this.#readline.close();
  }

  /** Handles Ctrl-C: discards a begun line; on an empty line, and at a fresh prompt, it is the reaction to the prompt. */
  #pressed(): void {
    if (this.#asked === undefined) return this.#interrupted('interrupt');
    const isBegun = this.#readline.line !== '';
    const isReaction = this.#asked.fresh || !isBegun;
    this.#output.write('^C\n');
    if (isReaction) this.#readline.setPrompt('');
    if (isBegun) this.#discardLine();
    if (isReaction) this.#settle({ type: 'interrupt' });
    else this.#readline.prompt();
  }

  /** Settles the prompt with a reaction. False if none is shown. */
  #settle(reaction: Reaction): boolean {
    const asked = this.#asked;
    if (asked === undefined) return false;
    this.#asked = undefined;
    this.#readline.setPrompt('');
    // Ctrl-D leaves the cursor after the prompt.
    if (reaction.type === 'end') this.#output.write('\n');
    asked.react(reaction);
    return true;
  }

  #forget(): void {
    this.#entered.length = 0;
    if (!this.#isOver && this.#readline.line !== '') this.#discardLine();
  }

  /** Empties the line that is being edited, as the keys for its end and its deletion do. */
  #discardLine(): void {
    this.#readline.write(null, { ctrl: true, name: 'e' });
    this.#readline.write(null, { ctrl: true, name: 'u' });
  }
}

/** Returns the shell command that continues a conversation. */
function comeBackHint(
  { agent, sessionId }: { agent: string; sessionId: string },
  flags: ServerFlags,
  { program }: Pick<Output, 'program'>,
): string {
  const queue = flags.taskQueue === undefined ? [] : ['--task-queue', flags.taskQueue];
  return shellCommand('chat', { operands: [agent], options: ['--session', sessionId, ...queue, ...serverOptions(flags)], program });
}
