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
import type { Lines } from './lines.ts';
import { TypedLines } from './typed-lines.ts';

/** The number of exchanges that are shown to a person who comes back. */
const SHOWN_EXCHANGES = 3;

/** Talks to a session on a terminal until the person leaves or the session is closed. Returns the exit code. */
export async function typedChat(io: CommandIo, flags: ChatFlags, open: OpenChat & { interactive: InteractiveStreams }): Promise<number> {
  const lines = new TypedLines(open.interactive);
  try {
    return await new TypedChat(io, flags, open, lines).talk();
  } finally {
    lines.close();
  }
}

/** One conversation on a terminal, from its beginning or from where it was left. */
export class TypedChat {
  readonly #io: CommandIo;
  readonly #flags: ChatFlags;
  readonly #open: OpenChat;
  readonly #lines: Lines;
  readonly #conversation: Conversation;

  constructor(io: CommandIo, flags: ChatFlags, open: OpenChat, lines: Lines) {
    this.#io = io;
    this.#flags = flags;
    this.#open = open;
    this.#lines = lines;
    this.#conversation = new Conversation({ io, flags, session: open.session, lines, from: open.status?.events ?? 0 });
  }

  async talk(): Promise<number> {
    const { output } = this.#io;
    output.note(output.look('dim', `Session ${printableLine(this.#open.session.id)}. /help shows what you can enter.`));
    let followed = await this.#comeBack();
    while (followed === 'turn') followed = await this.#exchange();
    if (followed === 'session') output.note('The session is closed.');
    else output.note(`The session goes on. To come back: ${printableLine(this.#comeBackHint)}`);
    return 0;
  }

  /** Shows the last exchanges of a session that has begun, and the turn that goes on. */
  async #comeBack(): Promise<Followed> {
    const { status, session } = this.#open;
    if (status?.session === undefined) return 'turn';
    const { output } = this.#io;
    for (const exchange of await newestExchanges(session.run, { events: status.events, count: SHOWN_EXCHANGES })) {
      for (const line of [...exchangeLines(exchange, output), '']) output.print(line);
    }
    this.#sayLimit(status.session);
    const { turn } = status.session;
    if (turn === undefined) return 'turn';
    output.note(`Turn ${turn} goes on.`);
    return this.#conversation.follow(turn);
  }

  /** Asks for a line, and does what it means. */
  async #exchange(): Promise<Followed> {
    const { output } = this.#io;
    const reaction = await this.#lines.ask(output.look('bold', '> '));
    if (reaction.type !== 'line') return 'left';
    const entered = readLine(reaction.text);
    switch (entered.type) {
      case 'nothing':
        return 'turn';
      case 'exit':
        return 'left';
      case 'help':
        for (const line of CHAT_HELP) output.print(`  ${line}`);
        return 'turn';
      case 'status':
        await this.#printStatus();
        return 'turn';
      case 'unknown':
        output.note(`There is no ${printableLine(entered.command)}: /help lists the commands`);
        return 'turn';
      case 'message':
        return this.#say(entered.text);
    }
  }

  async #say(text: string): Promise<Followed> {
    const { client, session } = this.#open;
    const { output, terminal } = this.#io;
    const over = new AbortController();
    const { watchForWorker } = await import('../../../client/start/worker-watch.ts');
    const watched = AbortSignal.any([over.signal, terminal.signal]);
    void watchForWorker(client.temporal, session.id, watched, (notice) => output.note(printable(notice)));
    try {
      const followed = await this.#conversation.say(text);
      if (followed === 'turn') output.print('');
      return followed;
    } catch (error) {
      // A message that is refused, or that finds no server, is not the end of the conversation.
      if (errorCode(error) === undefined) throw error;
      if (errorCode(error) === 'session_limit') this.#sayLimit((await session.status()).session);
      else output.note(output.look('red', printable(errorMessage(error))));
      return errorCode(error) === 'run_ended' ? 'session' : 'turn';
    } finally {
      over.abort();
    }
  }

  /** Says that a limit of the session is reached, and how it is raised. */
  #sayLimit(session: SessionView | undefined): void {
    if (session?.limitReached === undefined) return;
    const { output } = this.#io;
    output.note(`The session has reached a limit: ${printable(session.limitReached)}. To raise it:`);
    output.note(`  ${output.look('cyan', printableLine(raiseHint(this.#open.session.id, session, this.#flags, output.program)))}`);
  }

  async #printStatus(): Promise<void> {
    const { output } = this.#io;
    try {
      const { status, session, startTime } = await this.#open.session.status();
      output.print(`  ${output.look('dim', 'Status'.padEnd(9))} ${isTerminal(status) ? `closed (${status})` : status}`);
      for (const [name, value] of session === undefined ? [] : sessionFacts(session, startTime))
        output.print(`  ${output.look('dim', name.padEnd(9))} ${value}`);
    } catch (error) {
      if (errorCode(error) !== 'run_not_found') throw error;
      output.note('The session begins with your first message.');
    }
  }

  get #comeBackHint(): string {
    const { agent } = this.#flags;
    return comeBackHint({ agent, sessionId: this.#open.session.id }, this.#flags, this.#io.output);
  }
}
