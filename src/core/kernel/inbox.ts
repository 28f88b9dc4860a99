import type { Decision, RefusedRequest } from '../domain/approvals.ts';
import { AcceptedIds, AwaitedVerdicts, type RememberedIds } from '../domain/requests.ts';
import { BYTE_BUDGETS, cutText, jsonBytes, MAX_QUEUED_MESSAGES } from '../domain/byte-budgets.ts';
import type { QueuedMessage } from '../domain/content.ts';
import { defined } from '../domain/json.ts';
import type { LimitRaise } from '../domain/limits.ts';
import { sliceBytes, type Slices, type WithSlices } from './run-state.ts';

// Shared state: requests from outside.

/**
 * The number of Updates that the server accepts for one execution, and the fractions of it after which a run asks its callers to wait. The
 * fraction for decisions is larger, because a waiting run needs a decision even if it accepts no more messages.
 */
const UPDATES_OF_AN_EXECUTION = 2_000;
const BUSY_AT = { messages: 0.8, decisions: 0.95 };

/** Bytes of JSON of a refusal's message that appears only in the record of the run. */
const REFUSAL_BYTES = 500;

/** The requests of callers to a run. Handlers only write to it; the loop reads it between two steps and while it waits. */
export class Inbox {
  /** The number of Updates that this execution has accepted. */
  updates = 0;
  /** The number of requests that this execution has received. */
  received = 0;
  /** The requests that only a capability understands, in its slices. */
  readonly slices: Slices;
  /** A caller has paused this run itself. */
  #pausedItself: boolean;
  /** Another run that is paused has paused this one, too. */
  #pausedWithOther: boolean;
  /** The reason for a cancellation, if a caller gave it before the request to cancel. */
  cancelReason: string | undefined;
  /** True once a caller has asked for a cancellation by Signal. */
  cancelAsked: boolean;
  /** True once the end of the run is decided: it accepts no more requests. */
  closed = false;
  /** The outcomes of decisions that callers wait for. */
  readonly verdicts = new AwaitedVerdicts();
  /** The ids of the accepted requests. */
  readonly accepted: AcceptedIds;
  #messages: QueuedMessage[];
  #decisions: Decision[];
  #raises: LimitRaise[];
  #refused: RefusedRequest[];

  constructor(carried: ContinuedInbox = { messages: [], seen: [], paused: false }) {
    this.#messages = carried.messages;
    this.#decisions = carried.decisions ?? [];
    this.#raises = carried.raises ?? [];
    this.#refused = carried.refused ?? [];
    this.accepted = new AcceptedIds(carried);
    this.slices = { ...carried.slices };
    this.#pausedItself = carried.paused;
    this.#pausedWithOther = carried.pausedWithOther === true;
    this.cancelReason = carried.cancelReason;
    this.cancelAsked = carried.cancelAsked === true;
  }

  /** True while the run is paused, by a caller or with another run. */
  get paused(): boolean {
    return this.#pausedItself || this.#pausedWithOther;
  }

  /** Pauses or resumes the run itself. Resuming also ends a pause that came from another run. */
  pause(paused: boolean): void {
    this.#pausedItself = paused;
    if (!paused) this.#pausedWithOther = false;
  }

  /** Pauses or resumes the run along with another one. A caller's own pause of this run stays in effect. */
  pauseWithOther(paused: boolean): void {
    this.#pausedWithOther = paused;
  }

  /** The number of messages that are not yet recorded. */
  get queued(): number {
    return this.#messages.length;
  }

  /** The messages that are not yet recorded, in the order of acceptance. */
  get messages(): readonly QueuedMessage[] {
    return this.#messages;
  }

  /** The decisions that are not yet applied. */
  get decisions(): readonly Decision[] {
    return this.#decisions;
  }

  /** True if a message must be read before any further call starts. */
  get isSteered(): boolean {
    return this.#messages.some(({ mode }) => mode !== undefined);
  }

  /** True if the running model call must be given up for a message. */
  get isInterrupted(): boolean {
    return this.#messages.some(({ mode }) => mode === 'interrupt');
  }

  /** True if this execution has accepted so many Updates that more of them could reach the server's limit and block the run permanently. */
  isBusy(about: keyof typeof BUSY_AT): boolean {
    return this.updates >= UPDATES_OF_AN_EXECUTION * BUSY_AT[about];
  }

  /** Counts an accepted Update. */
  countUpdate(): void {
    this.updates += 1;
    this.received += 1;
  }

  hasRoomFor(message: Pick<QueuedMessage, 'content'>): boolean {
    if (this.#messages.length >= MAX_QUEUED_MESSAGES) return false;
    const bytes = this.#messages.reduce((sum, { content }) => sum + jsonBytes(content), jsonBytes(message.content));
    return bytes <= BYTE_BUDGETS.queue;
  }

  /** Queues a message, with the number of the turn that answers it if the run has turns. Returns false for one that was accepted before. */
  add(message: QueuedMessage, turn?: number): boolean {
    const isNew = this.accepted.add(message.id, turn);
    if (isNew) this.#messages.push(message);
    return isNew;
  }

  /** Assigns the queued messages to a turn. Returns their ids. */
  leaveTo(turn: number): string[] {
    const unread = this.#messages.map(({ id }) => id);
    this.accepted.move(unread, turn);
    return unread;
  }

  /** Removes and returns the oldest queued messages, by default all of them, in the order of acceptance. */
  take(count = this.#messages.length): QueuedMessage[] {
    return this.#messages.splice(0, count);
  }

  /** True if there is room for another request in addition to those that are not yet applied. */
  hasRoomForRequest(request: unknown): boolean {
    const bytes = jsonBytes([...this.#decisions, ...this.#raises, ...this.#refused, request]) + sliceBytes(this);
    return bytes <= BYTE_BUDGETS.requests;
  }

  decide(decision: Decision): void {
    this.#decisions.push(decision);
  }

  /** Removes and returns the oldest decisions. Until then, a repeated decision is recognized here. */
  takeDecisions(count = this.#decisions.length): Decision[] {
    return this.#decisions.splice(0, count);
  }

  /** Queues a raise of limits. Returns false for an id that was accepted before. */
  raise(raise: LimitRaise): boolean {
    const isNew = this.accepted.add(raise.id);
    if (isNew) this.#raises.push(raise);
    return isNew;
  }

  /** The raises of limits that are not yet applied. */
  get raises(): readonly LimitRaise[] {
    return this.#raises;
  }

  takeRaises(): LimitRaise[] {
    const raises = this.#raises;
    this.#raises = [];
    return raises;
  }

  /**
   * Keeps a refusal for the record, because the sender of a Signal gets no answer. Their number and length are bounded, so that invalid
   * Signals cannot fill up the run.
   */
  refuse(request: RefusedRequest): void {
    const brief = { ...request, message: cutText(request.message, REFUSAL_BYTES) };
    if (this.#refused.length < MAX_QUEUED_MESSAGES && this.hasRoomForRequest(brief)) this.#refused.push(brief);
  }

  takeRefused(): RefusedRequest[] {
    const refused = this.#refused;
    this.#refused = [];
    return refused;
  }

  /** Returns the requests that the next execution needs. */
  carried(): ContinuedInbox {
    const { cancelReason } = this;
    return {
      messages: this.#messages,
      ...this.accepted.carried(this.#messages.length),
      paused: this.#pausedItself,
      ...(this.#pausedWithOther ? { pausedWithOther: true as const } : {}),
      ...defined({ cancelReason }),
      ...(this.cancelAsked ? { cancelAsked: true as const } : {}),
      ...(this.#decisions.length === 0 ? {} : { decisions: this.#decisions }),
      ...(this.#raises.length === 0 ? {} : { raises: this.#raises }),
      ...(this.#refused.length === 0 ? {} : { refused: this.#refused }),
      ...(Object.keys(this.slices).length === 0 ? {} : { slices: this.slices }),
    };
  }
}

// Shared state: the requests that are carried into the next execution.

/** The requests of callers that a run carries into its next execution. */
export interface ContinuedInbox extends RememberedIds, WithSlices {
  /** Accepted messages that are not yet recorded, in order. */
  messages: QueuedMessage[];
  paused: boolean;
  /** Another run that is paused has paused this one, too. */
  pausedWithOther?: true;
  /** The reason for a cancellation, if a caller gave it before the request to cancel. */
  cancelReason?: string;
  /** A caller has asked for a cancellation by Signal. */
  cancelAsked?: true;
  /** Decisions that were accepted and not yet applied. */
  decisions?: Decision[];
  raises?: LimitRaise[];
  /** Refused requests that are not yet recorded. */
  refused?: RefusedRequest[];
}
