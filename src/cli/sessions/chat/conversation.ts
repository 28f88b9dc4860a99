import { answeringTurn } from '../../../client/sessions/answering-turn.ts';
import type { SessionHandle } from '../../../client/sessions/session-handle.ts';
import type { Event } from '../../../core/domain/record/event.ts';
import { errorMessage } from '../../../core/domain/errors/error.ts';
import { outputText } from '../../../core/domain/content/output-text.ts';
import { printable } from '../../../core/domain/content/printable.ts';
import type { Duration } from '../../../core/domain/run/duration.ts';
import { shellCommand } from '../../../core/hints/shell-command.ts';
import { sleep } from '../../../temporal/waiting.ts';
import { osUser } from '../../os-user.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { serverOptions } from '../../program/server-options.ts';
import { askDecision } from './ask-decision.ts';
import { AwaitedTurn, type TurnRequest } from './awaited-turn.ts';
import { chatEventLines } from './chat-event-lines.ts';
import type { Interruptions } from './interruptions.ts';
import type { Lines } from './lines.ts';
import { WaitingCalls } from './waiting-calls.ts';

/** The end of an exchange: another one may follow, the session is closed, or the person has left. */
export type Followed = 'continue' | 'closed' | 'left';

/** The parts of a conversation on a terminal. */
export interface ConversationParts {
  io: CommandIo;
  flags: ServerFlags;
  session: SessionHandle;
  lines: Lines;
  interruptions: Interruptions;
  /** The offset of the first event to show. */
  from: number;
  /** Milliseconds between two questions for pending decisions, and between two requests to interrupt a turn that has not begun. Default 500. */
  everyMs?: number;
}

/** The time for which a request waits for a worker: Ctrl-C ends the wait earlier. */
const PATIENCE: Duration = '24h';

/** The time after which a person who waits for the session to take a message is told so. */
const SILENCE_MS = 5_000;
const SILENCE = 'The session has not answered yet: is a worker running? Ctrl-C twice leaves.';

/** A message that a turn has not read, and the turn that reads it. */
interface UnreadMessage {
  messageId: string;
  turn: number;
}

/** A conversation with a session on a terminal: sends messages, and shows what the session does until it has answered. */
export class Conversation {
  readonly #parts: ConversationParts;
  /** The offset of the next event to show. */
  #offset: number;
  /** The messages that were entered here and not recorded yet: the person has them on the screen. */
  readonly #own: string[] = [];
  /** True once the session has answered. Before, the caller tells that no worker has taken it. */
  #hasBegun: boolean;
  /** The turn that the person waits for. */
  #turn: AwaitedTurn | undefined;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#offset = parts.from;
    this.#hasBegun = parts.from > 0;
  }

  /** True if the session has not answered that request about the newest turn. */
  isUnanswered(request: TurnRequest): boolean {
    return this.#turn?.unanswered.has(request) ?? false;
  }

  /** Sends a message and shows the turn that answers it. Throws the refusal of the message. */
  async say(text: string): Promise<Followed> {
    const { session, io } = this.#parts;
    const followed = await this.#during(async (turn) => {
      const silence = this.#hasBegun ? setTimeout(() => io.output.note(SILENCE), SILENCE_MS) : undefined;
      let receipt;
      try {
        receipt = await turn.answered('message', session.send(text, { timeout: PATIENCE }));
        this.#hasBegun = true;
        this.#own.push(text);
        turn.begins(answeringTurn(session.id, receipt));
      } finally {
        clearTimeout(silence);
      }
      return this.#follow(turn, receipt.id);
    });
    return this.#untilRead(followed);
  }

  /**
   * Shows what the session does until a turn has ended, and asks for the decisions that it waits for. `messageId`: goes on with the next
   * turn, if this one has not read the message.
   */
  async follow(number: number, messageId?: string): Promise<Followed> {
    const followed = await this.#during((turn) => {
      turn.begins(number);
      return this.#follow(turn, messageId);
    });
    return this.#untilRead(followed);
  }

  /** Follows the next turn if the one that has ended did not read the message. */
  async #untilRead(followed: Followed | UnreadMessage): Promise<Followed> {
    return typeof followed === 'string' ? followed : this.follow(followed.turn, followed.messageId);
  }

  /** Ends what goes on for the person who has left. */
  end(): void {
    this.#turn?.end();
  }

  /** Does the work of one turn, which the first Ctrl-C interrupts. */
  async #during<Value>(work: (turn: AwaitedTurn) => Promise<Value>): Promise<Value> {
    const { interruptions, io } = this.#parts;
    const turn = (this.#turn = new AwaitedTurn(io.terminal.signal));
    interruptions.interrupt = () => void this.#interrupt(turn);
    try {
      return await work(turn);
    } finally {
      interruptions.interrupt = undefined;
      turn.end();
    }
  }

  async #follow(turn: AwaitedTurn, messageId?: string): Promise<Followed | UnreadMessage> {
    const { session, everyMs = 500 } = this.#parts;
    const { signal } = turn;
    const number = await turn.number;
    const waits = new WaitingCalls();
    let offset = this.#offset;
    const events = session.run.events({ from: offset, follow: true, signal });
    const nextEvent = (): Promise<IteratorResult<Event>> => handled(events.next());
    const tick = (): Promise<'tick'> => handled(sleep(everyMs, signal).then(() => 'tick' as const));
    let [event, time] = [nextEvent(), tick()];
    for (;;) {
      const happened = await Promise.race([event, time]);
      if (happened === 'tick') {
        if ((await this.#askWhatWaits(turn, waits)) === 'end') return 'left';
        time = tick();
        continue;
      }
      if (happened.done === true) return 'closed';
      this.#show(happened.value, offset);
      offset += 1;
      const { turn: ended } = happened.value;
      if (ended !== undefined && ended.number >= number) {
        const isUnread = messageId !== undefined && ended.unanswered?.includes(messageId);
        return isUnread ? { messageId, turn: ended.number + 1 } : 'continue';
      }
      event = nextEvent();
    }
  }

  /** Asks for the decision on a call that begins to wait, unless the turn was interrupted. `end`: the person leaves instead. */
  async #askWhatWaits(turn: AwaitedTurn, known: WaitingCalls): Promise<'end' | undefined> {
    const { session, interruptions } = this.#parts;
    if (turn.interrupted.aborted) return undefined;
    // Errors of the session are reported by the reading of its events.
    const approvals = await session.run.approvals().catch(() => undefined);
    if (approvals === undefined) return undefined;
    if (known.isPausedNow(approvals.status === 'paused')) this.#sayPaused();
    const waiting = known.firstNew(approvals.pending);
    if (waiting === undefined) return undefined;
    // The call comes before the question about it, however long the pause between two readings of events is.
    let offset = this.#offset;
    for await (const event of session.run.events({ from: offset })) this.#show(event, offset++);
    if (turn.interrupted.aborted) return undefined;
    const reaction = await askDecision({ ...this.#parts, run: session.run, signal: turn.interrupted }, waiting);
    if (reaction === 'interrupt') interruptions.press();
    return reaction === 'end' ? 'end' : undefined;
  }

  /** Shows the event with that offset, unless it has been shown. */
  #show(event: Event, offset: number): void {
    if (offset < this.#offset) return;
    this.#offset = offset + 1;
    const { output } = this.#parts.io;
    const [message] = event.author === 'user' ? event.content : [];
    const own = message?.type === 'message' ? this.#own.indexOf(outputText(message.content)) : -1;
    if (own >= 0) this.#own.splice(own, 1);
    else for (const line of chatEventLines(event, output)) output.print(line);
  }

  /** Interrupts the turn, as soon as its number is known. Never rejects. */
  async #interrupt(turn: AwaitedTurn): Promise<void> {
    const { session, io, everyMs = 500 } = this.#parts;
    turn.interrupt();
    io.output.note('Interrupting the turn. Ctrl-C again leaves.');
    const by = osUser();
    const input = { ...(by === undefined ? {} : { by }), timeout: PATIENCE };
    try {
      const number = await turn.number;
      for (;;) {
        const { interrupted } = await turn.answered('interruption', session.interrupt({ turn: number, ...input }));
        if (interrupted) return;
        // The message is accepted before its turn begins.
        await sleep(everyMs, turn.signal);
      }
    } catch (error) {
      if (!turn.signal.aborted) io.output.note(io.output.look('red', printable(errorMessage(error))));
    }
  }

  #sayPaused(): void {
    const { io, flags, session } = this.#parts;
    const resume = shellCommand('resume', { operands: [session.id], options: serverOptions(flags), program: io.output.program });
    io.output.note(`The session is paused. It goes on after:\n  ${resume}`);
  }
}

/** Returns the value. Its failure is no unhandled rejection if the wait for it ends before. */
function handled<Value>(value: Promise<Value>): Promise<Value> {
  value.catch(() => undefined);
  return value;
}
