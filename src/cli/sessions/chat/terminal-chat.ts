import { errorCode, errorMessage } from '../../../core/domain/errors/error.ts';
import { printable, printableLine } from '../../../core/domain/content/printable.ts';
import { isTerminal } from '../../../core/domain/run/status.ts';
import type { SessionView } from '../../../core/domain/sessions/session-views.ts';
import type { CommandIo } from '../../program/command.ts';
import { sessionFacts } from '../../render/session-facts.ts';
import type { InteractiveStreams } from '../../terminal.ts';
import { exchangeLines, newestExchanges } from '../exchanges.ts';
import { raiseHint } from '../raise-hint.ts';
import type { ChatFlags, OpenChat } from './open-chat.ts';
import { comeBackHint } from './chat-hints.ts';
import { Conversation, type Followed } from './conversation.ts';
import { CHAT_HELP, readLine } from './entered-line.ts';
import { Interruptions } from './interruptions.ts';
import type { Lines } from './lines.ts';
import { saySessionEnd, sessionEnd } from './session-end.ts';
import { TerminalLines } from './terminal-lines.ts';

/** The number of exchanges that are shown to a person who comes back. */
const SHOWN_EXCHANGES = 3;

/** Talks to a session on a terminal until the person leaves or the session is closed. Returns the exit code. */
export async function terminalChat(io: CommandIo, flags: ChatFlags, open: OpenChat & { interactive: InteractiveStreams }): Promise<number> {
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
  /** True once the session exists, or may exist: a message was sent to it. */
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
    this.#conversation = new Conversation({ ...parts, ...(live === undefined ? {} : { live }) });
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
    if (this.#conversation.isUnanswered('interruption')) output.note('The session has not answered the interruption: the turn may go on.');
    output.note(`The session goes on. To come back: ${printableLine(this.#comeBackHint)}`);
  }

  /** Shows the last exchanges of a session that has begun, and the turn that goes on. */
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
    output.note(`Turn ${turn} goes on.`);
    return this.#ended(await this.#conversation.follow(turn));
  }

  /** Asks for a line, and does what it means. */
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
    const { watchForWorker } = await import('../../../client/start/worker-watch.ts');
    const watched = AbortSignal.any([ended.signal, terminal.signal]);
    void watchForWorker(client.temporal, session.id, watched, (notice) => output.note(printable(notice)));
    try {
      return this.#ended(await this.#conversation.say(text));
    } catch (error) {
      if (this.#interruptions.hasLeft) return 'left';
      // A message that is refused, or that finds no server, is not the end of the conversation.
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
      output.print(`  ${output.look('dim', 'Status'.padEnd(9))} ${isTerminal(status) ? `closed (${status})` : status}`);
      for (const [name, value] of session === undefined ? [] : sessionFacts(session, startTime))
        output.print(`  ${output.look('dim', name.padEnd(9))} ${value}`);
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
