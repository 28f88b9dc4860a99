import { randomUUID } from 'node:crypto';
import type { LonghaulClient } from '../../client/longhaul-client.ts';
import type { RunHandle } from '../../client/run-handle.ts';
import { answeringTurn, type SessionHandle, type SessionOptions } from '../../client/session-handle.ts';
import type { StreamItemContent } from '../../client/stream/stream-item.ts';
import type { ApprovalView } from '../../core/domain/approvals.ts';
import { isToolCall, outputText } from '../../core/domain/content.ts';
import { errorCode, errorMessage, LonghaulError, UsageError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import type { ModelName } from '../../core/domain/model.ts';
import { blockedBy, type Event, isResponse } from '../../core/domain/record.ts';
import { isTerminal } from '../../core/domain/run.ts';
import { printable, printableLine, shellCommand } from '../../core/domain/text.ts';
import type { Duration } from '../../core/domain/time.ts';
import type { StatusView } from '../../core/protocol.ts';
import { sleep } from '../../temporal/waiting.ts';
import { osUser, serverOptions } from '../command.ts';
import type { CommandIo, ServerFlags } from '../define-command.ts';
import { EXIT_CODES, exitCodeOfResult, exitOfError } from '../exit-codes.ts';
import { sessionLimitOptions } from '../options.ts';
import type { Output } from '../output.ts';
import { chatEventLines } from '../render/event-lines.ts';
import { LiveText, responseText, SILENCE_MS } from '../render/live.ts';
import type { ChatFlags } from '../session-commands.ts';
import { askDecision, type Interruptions, type Lines } from './input.ts';

/** The end of an exchange: another one may follow, the session is closed, or the person has left. */
export type Followed = 'continue' | 'closed' | 'left';

/** The parts of a conversation on a terminal. */
interface ConversationParts {
  io: CommandIo;
  flags: ServerFlags;
  session: SessionHandle;
  lines: Lines;
  interruptions: Interruptions;
  /** The offset of the first event to show. */
  from: number;
  /** Milliseconds between queries for pending decisions, and between requests to interrupt a turn that has not begun. Default 500. */
  everyMs?: number;
  /** Brings text as the model writes it. */
  live?: FollowLive;
  /** The time without output after which the person is told that the agent is working, in milliseconds. Default 3,000. */
  silenceMs?: number;
}

/** How long a request waits for a worker: Ctrl-C ends the wait earlier. */
const PATIENCE: Duration = '24h';

/** The time after which a person is told that the session has not taken the message yet. */
const UNTAKEN_MS = 5_000;
const UNTAKEN = 'The session has not answered yet: is a worker running? Ctrl-C twice leaves.';

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
  /** The messages that were entered here and are not recorded yet: they are already on the screen. */
  readonly #own: string[] = [];
  /** True once the session has answered. Before that, the caller reports that no worker has taken it. */
  #hasBegun: boolean;
  readonly #live: LiveText;
  #reading: AbortController | undefined;
  /** True while a turn is followed: between turns the person has a prompt. */
  #isFollowing = false;
  /** A guarded answer that has not passed its checks yet, with its offset. */
  #held: { event: Event; offset: number } | undefined;
  /** The time of the newest output; undefined once the person was told that the agent is working. */
  #shownAt: number | undefined;
  /** The turn that the person waits for. */
  #turn: AwaitedTurn | undefined;

  constructor(parts: ConversationParts) {
    this.#parts = parts;
    this.#offset = parts.from;
    this.#hasBegun = parts.from > 0;
    this.#live = new LiveText((text) => parts.io.output.write(text));
  }

  /** True if the session has not answered this request about the newest turn. */
  isUnanswered(request: TurnRequest): boolean {
    return this.#turn?.unanswered.has(request) ?? false;
  }

  /** Sends a message and shows the turn that answers it. Throws the refusal of the message. */
  async say(text: string): Promise<Followed> {
    const { session, io } = this.#parts;
    const followed = await this.#during(async (turn) => {
      const silence = this.#hasBegun ? setTimeout(() => io.output.note(UNTAKEN), UNTAKEN_MS) : undefined;
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
   * Shows what the session does until a turn has ended, and asks for the decisions that it waits for. `messageId`: continues with the next
   * turn, if this one has not read the message.
   */
  async follow(number: number, messageId?: string): Promise<Followed> {
    const followed = await this.#during((turn) => {
      turn.begins(number);
      return this.#follow(turn, messageId);
    });
    return this.#untilRead(followed);
  }

  /** Follows the next turn if the ended one did not read the message. */
  async #untilRead(followed: Followed | UnreadMessage): Promise<Followed> {
    return typeof followed === 'string' ? followed : this.follow(followed.turn, followed.messageId);
  }

  /** Ends what is still running for a person who has left. */
  end(): void {
    this.#turn?.end();
    this.#reading?.abort();
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
      this.#isFollowing = false;
      this.#live.endLine();
      turn.end();
    }
  }

  async #follow(turn: AwaitedTurn, messageId?: string): Promise<Followed | UnreadMessage> {
    const { session, everyMs = 500 } = this.#parts;
    const { signal } = turn;
    const number = await turn.number;
    this.#shownAt = performance.now();
    this.#isFollowing = true;
    void this.#readLive();
    const waits = new WaitingCalls();
    let offset = this.#offset;
    const events = session.run.events({ from: offset, follow: true, signal });
    const nextEvent = (): Promise<IteratorResult<Event>> => withoutUnhandledRejection(events.next());
    const tick = (): Promise<'tick'> => withoutUnhandledRejection(sleep(everyMs, signal).then(() => 'tick' as const));
    let [event, time] = [nextEvent(), tick()];
    for (;;) {
      const happened = await Promise.race([event, time]);
      if (happened === 'tick') {
        this.#saySilence();
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

  /** Writes the text of the session as a service streams it, until the conversation is over. */
  async #readLive(): Promise<void> {
    const { live, session, io } = this.#parts;
    if (live === undefined || this.#reading !== undefined) return;
    const reading = (this.#reading = new AbortController());
    for await (const item of live(session.id, AbortSignal.any([reading.signal, io.terminal.signal]))) {
      if (this.#isFollowing && this.#live.take(item)) this.#shownAt = performance.now();
    }
    // The next turn tries again: a service may have started meanwhile.
    this.#reading = undefined;
  }

  #saySilence(): void {
    const { io, silenceMs = SILENCE_MS } = this.#parts;
    if (this.#shownAt === undefined || performance.now() - this.#shownAt < silenceMs) return;
    this.#shownAt = undefined;
    io.output.note(io.output.look('dim', '  … the agent is working'));
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
    // The call is shown before the question about it, however long the pause between two reads of events is.
    let offset = this.#offset;
    for await (const event of session.run.events({ from: offset })) this.#show(event, offset++);
    if (turn.interrupted.aborted) return undefined;
    const reaction = await askDecision({ ...this.#parts, run: session.run, signal: turn.interrupted }, waiting);
    if (reaction === 'interrupt') interruptions.press();
    return reaction === 'end' ? 'end' : undefined;
  }

  /** Shows the event at this offset, unless it was already shown. */
  #show(event: Event, offset: number): void {
    if (offset < this.#offset) return;
    this.#offset = offset + 1;
    this.#shownAt = performance.now();
    const held = this.#held;
    this.#held = undefined;
    const { turn } = event;
    const isBlocked = held !== undefined && blockedBy(event).includes(held.offset);
    // If the turn ends in any way other than with the answer, the held answer has passed no check.
    const isUnchecked = turn !== undefined && turn.stopReason !== 'final_answer';
    if (held !== undefined && !isBlocked && !isUnchecked) this.#print(held.event);
    if (event.guarded && !event.content.some(isToolCall)) {
      if (!event.interrupted) this.#held = { event, offset };
      return;
    }
    this.#print(event);
    // The text after calls comes after their results.
    if (!event.content.some(isToolCall)) this.#live.goOn();
  }

  #print(event: Event): void {
    const { output } = this.#parts.io;
    const [message] = event.author === 'user' ? event.content : [];
    const own = message?.type === 'message' ? this.#own.indexOf(outputText(message.content)) : -1;
    if (own >= 0) this.#own.splice(own, 1);
    else {
      const isWritten = isResponse(event) && this.#live.settle(event.id, responseText(event));
      const rest = isWritten ? { ...event, content: event.content.filter(({ type }) => type !== 'message') } : event;
      const shown = chatEventLines(rest, output);
      if (shown.length > 0) this.#live.endLine();
      for (const line of shown) output.print(line);
    }
  }

  /** Interrupts the turn, as soon as its number is known. Never rejects. */
  async #interrupt(turn: AwaitedTurn): Promise<void> {
    const { session, io, everyMs = 500 } = this.#parts;
    turn.interrupt();
    io.output.note('Interrupting the turn. Ctrl-C again leaves.');
    const by = osUser();
    const input = { ...defined({ by }), timeout: PATIENCE };
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
    io.output.note(`The session is paused. It continues after:\n  ${resume}`);
  }
}

/** Returns the promise, whose failure is not an unhandled rejection if the wait for it ends earlier. */
function withoutUnhandledRejection<Value>(value: Promise<Value>): Promise<Value> {
  value.catch(() => undefined);
  return value;
}

/** The calls that a person was asked about, and whether the person was told of a pause. */
class WaitingCalls {
  readonly #asked = new Set<string>();
  #isPaused = false;

  /** Returns a pending call that the person was not asked about yet, and marks it as asked. */
  firstNew(pending: readonly ApprovalView[]): ApprovalView | undefined {
    const waiting = pending.find(({ key }) => !this.#asked.has(key));
    if (waiting !== undefined) this.#asked.add(waiting.key);
    return waiting;
  }

  /** True if the session is paused and was not at the previous call. */
  isPausedNow(isPaused: boolean): boolean {
    const before = this.#isPaused;
    this.#isPaused = isPaused;
    return isPaused && !before;
  }
}

/** The requests about a turn that a session may not have answered yet. */
type TurnRequest = 'message' | 'interruption';

/** A turn that the person waits for, from the message that begins it to its end. */
class AwaitedTurn {
  /** Resolves to the number of the turn once the session has accepted the message; never if it refuses the message. */
  readonly number: Promise<number>;
  /** Aborted when the person no longer waits. */
  readonly signal: AbortSignal;
  /** Resolves the number of the turn. */
  begins: (number: number) => void = () => undefined;
  readonly #ended = new AbortController();
  readonly #interrupted = new AbortController();
  readonly #unanswered = new Set<TurnRequest>();

  constructor(signal: AbortSignal) {
    this.number = new Promise((resolve) => (this.begins = resolve));
    this.signal = AbortSignal.any([this.#ended.signal, signal]);
  }

  /** Aborted when the person interrupts the turn. */
  get interrupted(): AbortSignal {
    return this.#interrupted.signal;
  }

  /** The requests that have no answer yet. */
  get unanswered(): ReadonlySet<TurnRequest> {
    return this.#unanswered;
  }

  /** Waits for the answer to a request. */
  async answered<Answer>(request: TurnRequest, answer: Promise<Answer>): Promise<Answer> {
    this.#unanswered.add(request);
    try {
      return await answer;
    } finally {
      this.#unanswered.delete(request);
    }
  }

  interrupt(): void {
    this.#interrupted.abort();
  }

  end(): void {
    this.#ended.abort();
  }
}

/** A session to talk to, and its status if it has begun. */
export interface OpenChat {
  client: LonghaulClient;
  session: SessionHandle;
  status: StatusView | undefined;
  /** Returns the stream of a run from a service. Absent: no service may have it. */
  live?: FollowLive;
}

/** Returns the items of a run's stream, until the signal is aborted. Does not reject. */
type FollowLive = (runId: string, signal: AbortSignal) => AsyncIterable<StreamItemContent>;

/** Returns the session that the flags name, or a new one, which begins with its first message. Throws if it takes no messages here. */
export async function openChat(client: LonghaulClient, flags: ChatFlags): Promise<OpenChat> {
  const sessionId = flags.session ?? `${flags.agent}-${randomUUID()}`;
  const status = flags.session === undefined ? undefined : await statusOf(client, sessionId);
  if (status !== undefined) await requireOpen(client, status, flags.agent);
  return { client, session: client.session(flags.agent, { id: sessionId, ...startOptions(flags) }), status };
}

async function statusOf(client: LonghaulClient, sessionId: string): Promise<StatusView | undefined> {
  try {
    return await client.handle(sessionId).status();
  } catch (error) {
    if (errorCode(error) === 'run_not_found') return undefined;
    throw error;
  }
}

/** Throws unless the run with this id is an open session of the agent. Before its first event, only a message shows if it is a session. */
async function requireOpen(
  client: LonghaulClient,
  { runId, agentName, status, session, events }: StatusView,
  agent: string,
): Promise<void> {
  if (session === undefined && events > 0) throw new UsageError(`Run "${runId}" is not a session: choose another id for --session`);
  if (agentName !== agent) throw new UsageError(`Session "${runId}" is one of agent "${agentName}", not "${agent}"`);
  if (!isTerminal(status)) return;
  const { text } = await sessionEnd(client.handle(runId));
  throw new LonghaulError('run_ended', `Session "${runId}" ${text}. Leave out --session to begin another one`);
}

/** Returns the options with which the first message starts the session. */
function startOptions(flags: ChatFlags): Omit<SessionOptions, 'id'> {
  const { title, deps, model, tag, steps } = flags;
  const limits = sessionLimitOptions(flags);
  return {
    ...defined({ title, deps }),
    // Checked by the client.
    ...(model === undefined ? {} : { model: model as ModelName }),
    ...defined({ tags: tag }),
    ...(steps === undefined ? {} : { turnLimits: { steps } }),
    ...(Object.keys(limits).length === 0 ? {} : { limits }),
  };
}

/** The end of a session: the exit code of the chat, and the reason. */
export interface SessionEnd {
  exitCode: number;
  /** `is closed`, `was cancelled: …`, `has ended with an error (invalid_input): …`. */
  text: string;
  errorCode?: string;
}

/** Waits for the end of a session. Throws `run_not_found`, errors of the server, and the reason of the signal. */
export async function sessionEnd(run: Pick<RunHandle, 'result'>, signal?: AbortSignal): Promise<SessionEnd> {
  try {
    const result = await run.result(defined({ signal }));
    const { status, error, errorCode: code, cancelReason } = result;
    const exitCode = exitCodeOfResult(result);
    if (status === 'completed') return { exitCode, text: 'is closed' };
    if (status === 'cancelled') return { exitCode, text: `was cancelled${cancelReason === undefined ? '' : `: ${cancelReason}`}` };
    return { exitCode, ...errorEnd(code, error ?? status) };
  } catch (error) {
    const code = errorCode(error);
    if (code !== 'run_terminated' && code !== 'run_timed_out') throw error;
    return { exitCode: EXIT_CODES[exitOfError(error)].code, ...errorEnd(code, errorMessage(error)) };
  }
}

function errorEnd(code: string | undefined, why: string): Pick<SessionEnd, 'text' | 'errorCode'> {
  return {
    text: `has ended with an error${code === undefined ? '' : ` (${code})`}: ${why}`,
    ...defined({ errorCode: code }),
  };
}

/** Says how a session has ended and how another one begins. */
export function saySessionEnd(
  { text, errorCode: code }: SessionEnd,
  { agent, ...flags }: ServerFlags & { agent: string },
  output: Output,
): void {
  output.note(output.look(code === undefined ? 'bold' : 'red', printable(`The session ${text}`)));
  const queue = flags.taskQueue === undefined ? [] : ['--task-queue', flags.taskQueue];
  const another = shellCommand('chat', { operands: [agent], options: [...queue, ...serverOptions(flags)], program: output.program });
  output.note(`${NEXT[code ?? ''] ?? 'To begin another one'}: ${printableLine(another)}`);
}

/** The next thing to do by the code of the error. */
const NEXT: Readonly<Record<string, string>> = {
  invalid_input: 'Begin another one with options that fit, such as --deps',
  unknown_agent: 'Start a worker that has the agent, or correct its name, and begin another one',
};
