import type { Decision, RefusedRequest } from '../domain/approvals.ts';
import { AcceptedIds, type RememberedIds } from '../domain/accepted-ids.ts';
import { AwaitedVerdicts } from '../domain/awaited-verdicts.ts';
import { BYTE_BUDGETS, cutText, jsonBytes, MAX_QUEUED_MESSAGES } from '../domain/byte-budgets.ts';
import type { NextTurnInput } from '../domain/children.ts';
import type { QueuedMessage } from '../domain/content.ts';
import { defined } from '../domain/defined.ts';
import type { LimitRaise } from '../domain/limits.ts';
import type { PermissionChange } from '../domain/permissions.ts';
import type { CloseRequest, TurnInterrupt } from '../domain/sessions.ts';

// Shared state: requests from outside.

/**
 * The number of Updates that the server lets one execution accept, and the parts of it after which a run asks its callers to wait.
 * The part for decisions is larger, because a waiting run needs a decision even if it accepts no more messages.
 */
const UPDATES_OF_AN_EXECUTION = 2_000;
const BUSY_AT = { messages: 0.8, decisions: 0.95 };

/** Bytes of JSON of the message of a refusal that only the record of the run shows. */
const REFUSAL_BYTES = 500;

/** The requests of callers to a run. Handlers only write into it; the loop reads it between two steps, and while it waits. */
export class Inbox {
  /** The number of Updates that this execution has accepted. */
  updates = 0;
  /** The number of requests that this execution has received. */
  received = 0;
  /** True once the parent has paused this one. */
  pausedByParent: boolean;
  /** True if the children were told to pause, and not told to continue. */
  childrenPaused: boolean;
  /** A caller has paused this run itself. */
  #pausedItself: boolean;
  /** The reason for a cancellation, if a caller gave it before the request to cancel. */
  cancelReason: string | undefined;
  /** True once a caller has asked for a cancellation by Signal. */
  cancelAsked: boolean;
  /** Set once a caller has closed a session: it ends with its turn. */
  closing: CloseRequest | undefined;
  /** Set once a caller has interrupted the current turn. */
  turnInterrupt: TurnInterrupt | undefined;
  /** The message of the run that keeps the session, before its turn has begun. */
  nextTurn: NextTurnInput | undefined;
  /** True once the end of the run is decided: it accepts no more requests. */
  closed = false;
  /** The run that is told of the end of this one. */
  notifyOnEnd: string | undefined;
  /** The outcomes of decisions for which callers wait. */
  readonly verdicts = new AwaitedVerdicts();
  #messages: QueuedMessage[];
  #decisions: Decision[];
  #raises: LimitRaise[];
  readonly #permissionChanges: PermissionChange[];
  #refused: RefusedRequest[];
  readonly #accepted: AcceptedIds;
  readonly #endedChildren: Set<string>;
  readonly #waitingChildren: Set<string>;

  constructor(carried: ContinuedInbox = { messages: [], seen: [], paused: false }) {
    this.#messages = carried.messages;
    this.#decisions = carried.decisions ?? [];
    this.#raises = carried.raises ?? [];
    this.#permissionChanges = carried.permissionChanges ?? [];
    this.#refused = carried.refused ?? [];
    this.#accepted = new AcceptedIds(carried);
    this.#endedChildren = new Set(carried.endedChildren);
    this.#waitingChildren = new Set(carried.waitingChildren);
    this.notifyOnEnd = carried.notifyOnEnd;
    this.#pausedItself = carried.paused;
    this.pausedByParent = carried.pausedByParent === true;
    this.childrenPaused = carried.childrenPaused === true;
    this.closing = carried.closing;
    this.turnInterrupt = carried.turnInterrupt;
    this.nextTurn = carried.nextTurn;
    this.cancelReason = carried.cancelReason;
    this.cancelAsked = carried.cancelAsked === true;
  }

  /** True while the run is paused, by a caller or by the parent. */
  get paused(): boolean {
    return this.#pausedItself || this.pausedByParent;
  }

  /** Pauses the run itself, or resumes it, also if the parent has paused it. */
  pause(paused: boolean): void {
    this.#pausedItself = paused;
    if (!paused) this.pausedByParent = false;
  }

  /** The number of messages that are not yet recorded. */
  get queued(): number {
    return this.#messages.length;
  }

  /** The decisions that are not yet applied. */
  get decisions(): readonly Decision[] {
    return this.#decisions;
  }

  /** True if a message must be read before any further call begins. */
  get isSteered(): boolean {
    return this.#messages.some(({ mode }) => mode !== undefined);
  }

  /** True if the running model call must be given up for a message. */
  get isInterrupted(): boolean {
    return this.#messages.some(({ mode }) => mode === 'interrupt');
  }

  /**
   * True if this execution has accepted so many Updates that more of them could reach the limit of the server and block the run for
   * good.
   */
  isBusy(about: keyof typeof BUSY_AT): boolean {
    return this.updates >= UPDATES_OF_AN_EXECUTION * BUSY_AT[about];
  }

  /** Counts an Update that was accepted. */
  countUpdate(): void {
    this.updates += 1;
    this.received += 1;
  }

  /** True for the id of a message or of a raise of limits that was accepted before. */
  has(id: string): boolean {
    return this.#accepted.has(id);
  }

  /** Returns the number of the turn of a session that answers a message which was accepted; undefined if none does. */
  turnOf(id: string): number | undefined {
    return this.#accepted.turnOf(id);
  }

  hasRoomFor(message: Pick<QueuedMessage, 'content'>): boolean {
    if (this.#messages.length >= MAX_QUEUED_MESSAGES) return false;
    const bytes = this.#messages.reduce((sum, { content }) => sum + jsonBytes(content), jsonBytes(message.content));
    return bytes <= BYTE_BUDGETS.queue;
  }

  /** Queues a message, to a session with the number of the turn that answers it. Returns false for one that was accepted before. */
  add(message: QueuedMessage, turn?: number): boolean {
    const isNew = this.#accepted.add(message.id, turn);
    if (isNew) this.#messages.push(message);
    return isNew;
  }

  /** Leaves the queued messages to a turn of a session. Returns their ids. */
  leaveTo(turn: number): string[] {
    const unread = this.#messages.map(({ id }) => id);
    this.#accepted.move(unread, turn);
    return unread;
  }

  /** Removes and returns the oldest queued messages, by default all of them, in the order of acceptance. */
  take(count = this.#messages.length): QueuedMessage[] {
    return this.#messages.splice(0, count);
  }

  /** True if there is room for one more decision or raise besides those that are not yet applied. */
  hasRoomForRequest(request: unknown): boolean {
    return jsonBytes([...this.#decisions, ...this.#raises, ...this.#permissionChanges, ...this.#refused, request]) <= BYTE_BUDGETS.requests;
  }

  decide(decision: Decision): void {
    this.#decisions.push(decision);
  }

  /** Removes and returns the oldest decisions. Before that, one that is sent again is recognised here. */
  takeDecisions(count = this.#decisions.length): Decision[] {
    return this.#decisions.splice(0, count);
  }

  /** Queues a raise of limits. Returns false for an id that was accepted before. */
  raise(raise: LimitRaise): boolean {
    const isNew = this.#accepted.add(raise.id);
    if (isNew) this.#raises.push(raise);
    return isNew;
  }

  /** The changes of the permissions that are not yet applied. */
  get permissionChanges(): readonly PermissionChange[] {
    return this.#permissionChanges;
  }

  /** Queues a change of the permissions, whose id was not accepted before. */
  changePermissions(change: PermissionChange): void {
    this.#accepted.add(change.id);
    this.#permissionChanges.push(change);
  }

  /** Removes the oldest change of the permissions. */
  takePermissionChange(): void {
    this.#permissionChanges.shift();
  }

  takeRaises(): LimitRaise[] {
    const raises = this.#raises;
    this.#raises = [];
    return raises;
  }

  /**
   * Keeps a refusal for the record, because the sender of a Signal gets no answer. Number and length are bounded, so that invalid
   * Signals cannot fill the run.
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

  /** The ids of the children that wait for a person. */
  get waitingChildren(): readonly string[] {
    return [...this.#waitingChildren];
  }

  /** True if a child waits for a person. */
  get hasWaitingChild(): boolean {
    return this.#waitingChildren.size > 0;
  }

  /** Notes that a child has told of its end. */
  childEnded(runId: string): void {
    this.#endedChildren.add(runId);
    this.#waitingChildren.delete(runId);
  }

  /** Notes that a child waits for a person, or that it does not wait any more. */
  childWaiting(runId: string, isWaiting: boolean): void {
    if (isWaiting) this.#waitingChildren.add(runId);
    else this.#waitingChildren.delete(runId);
  }

  /** True if the child has told of its end. */
  hasChildEnded(runId: string): boolean {
    return this.#endedChildren.has(runId);
  }

  /** Drops what a child has told, once its result is known. */
  forgetChild(runId: string): void {
    this.#endedChildren.delete(runId);
    this.#waitingChildren.delete(runId);
  }

  /** Removes and returns the message of the run that keeps the session. */
  takeNextTurn(): NextTurnInput | undefined {
    const { nextTurn } = this;
    this.nextTurn = undefined;
    return nextTurn;
  }

  /** Forgets the requests about a turn that has ended. */
  endTurn(): void {
    this.turnInterrupt = undefined;
  }

  /** Returns the requests that the next execution needs. */
  carried(): ContinuedInbox {
    const { cancelReason } = this;
    return {
      messages: this.#messages,
      ...this.#accepted.carried(this.#messages.length),
      paused: this.#pausedItself,
      ...defined({ closing: this.closing, turnInterrupt: this.turnInterrupt, nextTurn: this.nextTurn, cancelReason }),
      ...(this.cancelAsked ? { cancelAsked: true as const } : {}),
      ...(this.#decisions.length === 0 ? {} : { decisions: this.#decisions }),
      ...(this.#raises.length === 0 ? {} : { raises: this.#raises }),
      ...(this.#permissionChanges.length === 0 ? {} : { permissionChanges: this.#permissionChanges }),
      ...(this.#refused.length === 0 ? {} : { refused: this.#refused }),
      ...defined({ notifyOnEnd: this.notifyOnEnd }),
      ...(this.#endedChildren.size === 0 ? {} : { endedChildren: [...this.#endedChildren] }),
      ...(this.#waitingChildren.size === 0 ? {} : { waitingChildren: [...this.#waitingChildren] }),
      ...(this.pausedByParent ? { pausedByParent: true as const } : {}),
      ...(this.childrenPaused ? { childrenPaused: true as const } : {}),
    };
  }
}

// Shared state: requests from outside, as they are carried into the next execution.

/** The requests of callers that a run carries into its next execution. */
export interface ContinuedInbox extends RememberedIds {
  /** Accepted messages that are not yet recorded, in order. */
  messages: QueuedMessage[];
  paused: boolean;
  /** The reason for a cancellation, if a caller gave it before the request to cancel. */
  cancelReason?: string;
  /** A caller has asked for a cancellation by Signal. */
  cancelAsked?: true;
  /** Decisions that were accepted and not yet applied. */
  decisions?: Decision[];
  raises?: LimitRaise[];
  /** Changes of the permissions that were accepted and not yet applied. */
  permissionChanges?: PermissionChange[];
  /** Refused requests that are not yet recorded. */
  refused?: RefusedRequest[];
  /** A caller has closed the session. */
  closing?: CloseRequest;
  /** A caller has interrupted the current turn. */
  turnInterrupt?: TurnInterrupt;
  /** The message of the run that keeps the session, before its turn has begun. */
  nextTurn?: NextTurnInput;
  /** The run that is told of the end of this one. */
  notifyOnEnd?: string;
  /** Ids of children that have told of their end. */
  endedChildren?: string[];
  /** Ids of children that wait for a person. */
  waitingChildren?: string[];
  /** The parent has paused this one. */
  pausedByParent?: true;
  /** The children have been told to pause, and not to continue. */
  childrenPaused?: true;
}
