import { answeringTurn } from '../../../client/sessions/answering-turn.ts';
import type { SessionHandle } from '../../../client/sessions/session-handle.ts';
import type { ApprovalView } from '../../../core/domain/approvals/approval.ts';
import type { Event } from '../../../core/domain/record/event.ts';
import { outputText } from '../../../core/domain/content/output-text.ts';
import { shellCommand } from '../../../core/hints/shell-command.ts';
import { sleep } from '../../../temporal/waiting.ts';
import { osUser } from '../../os-user.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import { serverOptions } from '../../program/server-options.ts';
import { askDecision } from './ask-decision.ts';
import { chatEventLines } from './chat-event-lines.ts';
import type { Lines } from './lines.ts';

/** The end of what was followed: a turn; the whole session; or the person has left. */
export type Followed = 'turn' | 'session' | 'left';

/** The parts of a conversation on a terminal. */
export interface ConversationParts {
  io: CommandIo;
  flags: ServerFlags;
  session: SessionHandle;
  lines: Lines;
  /** The offset of the first event to show. */
  from: number;
  /** Milliseconds between two questions for pending decisions. Default 500. */
  everyMs?: number;
}

/** The time for which a message waits for a worker: Ctrl-C ends the wait earlier. */
const SENDING = '24h';

/** The time after which a person who waits for the session to take a message is told so. */
const SILENCE_MS = 5_000;

/** A conversation with a session on a terminal: sends messages, and shows what the session does until it has answered. */
export class Conversation {
  readonly #parts: ConversationParts;
  /** The offset of the next event to show. */
  #offset: number;
  /** The messages that were entered here and not recorded yet: the person has them on the screen. */
  readonly #own: string[] = [];

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#offset = parts.from;
  }

  /** Sends a message and shows the turn that answers it. Throws the refusal of the message. */
  async say(text: string): Promise<Followed> {
    const { session, lines, io } = this.#parts;
    const sending = session.send(text, { timeout: SENDING });
    sending.catch(() => undefined);
    const silence = setTimeout(
      () => io.output.note('The session has not answered yet: is a worker running? Ctrl-C ends the wait.'),
      SILENCE_MS,
    );
    const first = await Promise.race([sending, lines.interruption()]).finally(() => clearTimeout(silence));
    if (typeof first === 'string') {
      io.output.note('The message may have been accepted: the session answers it then.');
      return first === 'end' ? 'left' : 'turn';
    }
    this.#own.push(text);
    return this.follow(answeringTurn(session.id, first), first.id);
  }

  /**
   * Shows what the session does until a turn has ended, and asks for the decisions that it waits for. `messageId`: goes on with the
   * next turn, if this one has not read the message.
   */
  async follow(turn: number, messageId?: string): Promise<Followed> {
    const { session, lines, io, everyMs = 500 } = this.#parts;
    const over = new AbortController();
    const signal = AbortSignal.any([over.signal, io.terminal.signal]);
    const waits = new WaitingCalls();
    let isInterrupted = false;
    let current = turn;
    let offset = this.#offset;
    const events = session.run.events({ from: offset, follow: true, signal });
    const nextEvent = (): Promise<IteratorResult<Event>> => handled(events.next());
    const tick = (): Promise<'tick'> => handled(sleep(everyMs, signal).then(() => 'tick' as const));
    let [event, press, time] = [nextEvent(), lines.interruption(), tick()];
    try {
      for (;;) {
        let happened = await Promise.race([event, press, time]);
        if (happened === 'interrupt') press = lines.interruption();
        if (happened === 'tick') {
          if (!isInterrupted) happened = (await this.#askWhatWaits(waits)) ?? happened;
          time = tick();
        }
        if (happened === 'end' || (happened === 'interrupt' && isInterrupted)) return 'left';
        if (happened === 'interrupt') {
          isInterrupted = true;
          await this.#interrupt(current);
        }
        if (typeof happened === 'string') continue;
        if (happened.done === true) return 'session';
        this.#show(happened.value, offset);
        offset += 1;
        const ended = happened.value.turn;
        if (ended !== undefined && ended.number >= current) {
          if (messageId === undefined || !ended.unanswered?.includes(messageId)) return 'turn';
          current = ended.number + 1;
          isInterrupted = false;
        }
        event = nextEvent();
      }
    } finally {
      over.abort();
    }
  }

  /** Asks for the decision on a call that begins to wait. Returns what the person presses instead of deciding. */
  async #askWhatWaits(known: WaitingCalls): Promise<'interrupt' | 'end' | undefined> {
    const { session } = this.#parts;
    // Errors of the session are reported by the reading of its events.
    const approvals = await session.run.approvals().catch(() => undefined);
    if (approvals === undefined) return undefined;
    if (known.isPausedNow(approvals.status === 'paused')) this.#sayPaused();
    const waiting = known.firstNew(approvals.pending);
    if (waiting === undefined) return undefined;
    // The call comes before the question about it, however long the pause between two readings of events is.
    let offset = this.#offset;
    for await (const event of session.run.events({ from: offset })) this.#show(event, offset++);
    const reaction = await askDecision({ ...this.#parts, run: session.run }, waiting);
    return reaction === 'decided' ? undefined : reaction;
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

  async #interrupt(turn: number): Promise<void> {
    const { session, io } = this.#parts;
    io.output.note('Interrupting the turn. Ctrl-C again leaves.');
    const by = osUser();
    await session.interrupt({ turn, ...(by === undefined ? {} : { by }) });
  }

  #sayPaused(): void {
    const { io, flags, session } = this.#parts;
    const resume = shellCommand('resume', { operands: [session.id], options: serverOptions(flags), program: io.output.program });
    io.output.note(`The session is paused. It goes on after:\n  ${resume}`);
  }
}

/** The calls that a person was asked about, and the pause that the person was told of. */
class WaitingCalls {
  readonly #asked = new Set<string>();
  #isPaused = false;

  /** Returns a pending call that the person was not asked about, and counts it as one. */
  firstNew(pending: readonly ApprovalView[]): ApprovalView | undefined {
    const waiting = pending.find(({ key }) => !this.#asked.has(key));
    if (waiting !== undefined) this.#asked.add(waiting.key);
    return waiting;
  }

  /** True if the session is paused, and was not when this was asked before. */
  isPausedNow(isPaused: boolean): boolean {
    const before = this.#isPaused;
    this.#isPaused = isPaused;
    return isPaused && !before;
  }
}

/** Returns the value. Its failure is no unhandled rejection if the wait for it ends before. */
function handled<Value>(value: Promise<Value>): Promise<Value> {
  value.catch(() => undefined);
  return value;
}
