// Shared state: requests from outside.

import type { Decision, RefusedRequest } from '../../domain/approvals/approval.ts';
import { BYTE_BUDGETS, MAX_QUEUED_MESSAGES } from '../../domain/json/byte-budget.ts';
import { cutText } from '../../domain/content/cut-content.ts';
import type { LimitRaise } from '../../domain/agent/limits.ts';
import { jsonBytes } from '../../domain/json/payload-limit.ts';
import type { QueuedMessage } from '../../domain/record/queued-message.ts';
import { newest } from '../../domain/json/newest.ts';

/** Ids that are remembered in the next executions, and their bytes of JSON: a message is sent again within seconds, not after a thousand others. */
const REMEMBERED_IDS = { count: 2_000, bytes: 140_000 };

/**
 * Updates that the server lets one execution accept, and the parts of them after which a run asks its callers to wait.
 * Decisions have a part of their own: they are what a run waits for, and must get through when messages do not.
 */
const UPDATES_OF_AN_EXECUTION = 2_000;
const BUSY_AT = { messages: 0.8, decisions: 0.95 };

/** Bytes of JSON of what a refusal says, where nobody hears of it but who reads the record. */
const REFUSAL_BYTES = 500;

/** What has come of a decision whose sender waits for it. */
export type Verdict = { type: 'decided'; decision: Decision } | { type: 'refused'; code: RefusedRequest['code']; message: string };

/** A decision whose outcome is waited for, by so many. */
interface Awaited {
  waiting: number;
  verdict: Verdict | undefined;
}

/** What was said to a run from outside, and goes on with it. */
export interface CarriedInbox {
  /** Accepted and not yet taken in, in order. */
  messages: QueuedMessage[];
  /** Ids of messages that were accepted, the newest last: one of them sent again is not a new one. */
  seen: string[];
  paused: boolean;
  /** Why the run is about to be cancelled, where that was said ahead of the request. */
  cancelReason?: string;
  /** Somebody asked by signal that the run be cancelled. */
  cancelAsked?: true;
  /** Decisions that were accepted and not yet applied. */
  decisions?: Decision[];
  raises?: LimitRaise[];
  /** What was refused, and is not yet in the record. */
  refused?: RefusedRequest[];
}

/** What is said to a run from outside. Handlers only write into it; the loop reads it between two steps, and while it waits. */
export class Inbox {
  /** Updates that this execution has accepted. */
  updates = 0;
  /** Everything that has come to this execution. */
  received = 0;
  paused: boolean;
  /** Why the run is about to be cancelled, where that was said ahead of the request. */
  cancelReason: string | undefined;
  /** Somebody asked by signal that the run be cancelled. */
  cancelAsked: boolean;
  /** The run takes nothing more: its end is decided. */
  closed = false;
  #messages: QueuedMessage[];
  #decisions: Decision[];
  #raises: LimitRaise[];
  #refused: RefusedRequest[];
  readonly #seen: Set<string>;
  readonly #awaited = new Map<string, Awaited>();

  constructor(carried: CarriedInbox = { messages: [], seen: [], paused: false }) {
    this.#messages = carried.messages;
    this.#decisions = carried.decisions ?? [];
    this.#raises = carried.raises ?? [];
    this.#refused = carried.refused ?? [];
    this.#seen = new Set(carried.seen);
    this.paused = carried.paused;
    this.cancelReason = carried.cancelReason;
    this.cancelAsked = carried.cancelAsked === true;
  }

  /** Messages that wait to be taken in. */
  get queued(): number {
    return this.#messages.length;
  }

  /** Decisions that wait to be applied. */
  get decisions(): readonly Decision[] {
    return this.#decisions;
  }

  /** True where a message waits that is to be read before anything else is begun. */
  get isSteered(): boolean {
    return this.#messages.some(({ mode }) => mode !== undefined);
  }

  /** True where a message waits that the model call in flight is to be given up for. */
  get isInterrupted(): boolean {
    return this.#messages.some(({ mode }) => mode === 'interrupt');
  }

  /** So many Updates that more of them could use up what the server allows, and block the run for good. */
  isBusy(about: keyof typeof BUSY_AT): boolean {
    return this.updates >= UPDATES_OF_AN_EXECUTION * BUSY_AT[about];
  }

  /** Counts an Update that was accepted. */
  countUpdate(): void {
    this.updates += 1;
    this.received += 1;
  }

  /** True for the id of a message or of a raise that was accepted before. */
  has(id: string): boolean {
    return this.#seen.has(id);
  }

  /** True where the queue has room for the message. */
  hasRoomFor(message: Pick<QueuedMessage, 'content'>): boolean {
    if (this.#messages.length >= MAX_QUEUED_MESSAGES) return false;
    const bytes = this.#messages.reduce((sum, { content }) => sum + jsonBytes(content), jsonBytes(message.content));
    return bytes <= BYTE_BUDGETS.queue;
  }

  /** Queues a message. False for one that was accepted before. */
  add(message: QueuedMessage): boolean {
    if (this.#seen.has(message.id)) return false;
    this.#seen.add(message.id);
    this.#messages.push(message);
    return true;
  }

  /** All queued messages, in the order of acceptance. The queue is empty then. */
  take(): QueuedMessage[] {
    const messages = this.#messages;
    this.#messages = [];
    return messages;
  }

  /** True where there is room for a decision or for raised limits, beside those that wait to be applied. */
  hasRoomForRequest(request: unknown): boolean {
    return jsonBytes([...this.#decisions, ...this.#raises, ...this.#refused, request]) <= BYTE_BUDGETS.requests;
  }

  decide(decision: Decision): void {
    this.#decisions.push(decision);
  }

  /** The oldest decisions. Until they are taken, whoever sends one of them again hears that it is here already. */
  takeDecisions(count = this.#decisions.length): Decision[] {
    return this.#decisions.splice(0, count);
  }

  /** Queues raised limits. False for an id that was accepted before. */
  raise(raise: LimitRaise): boolean {
    if (this.#seen.has(raise.id)) return false;
    this.#seen.add(raise.id);
    this.#raises.push(raise);
    return true;
  }

  takeRaises(): LimitRaise[] {
    const raises = this.#raises;
    this.#raises = [];
    return raises;
  }

  /** Keeps what could not be told to its sender. As many as messages, and short: a caller that signals nonsense must not fill the run. */
  refuse(request: RefusedRequest): void {
    const brief = { ...request, message: cutText(request.message, REFUSAL_BYTES) };
    if (this.#refused.length < MAX_QUEUED_MESSAGES && this.hasRoomForRequest(brief)) this.#refused.push(brief);
  }

  takeRefused(): RefusedRequest[] {
    const refused = this.#refused;
    this.#refused = [];
    return refused;
  }

  /** Somebody waits for what comes of a decision, until `forgetVerdict`. */
  awaitVerdict(id: string): void {
    const awaited = this.#awaited.get(id);
    if (awaited === undefined) this.#awaited.set(id, { waiting: 1, verdict: undefined });
    else awaited.waiting += 1;
  }

  /** Says what has come of a decision, to those who wait for it. The record has it for everybody else. */
  settle(id: string, verdict: Verdict): void {
    const awaited = this.#awaited.get(id);
    if (awaited !== undefined) awaited.verdict = verdict;
  }

  verdictOn(id: string): Verdict | undefined {
    return this.#awaited.get(id)?.verdict;
  }

  /** One who has waited knows. What nobody waits for any more is forgotten: it holds arguments and answers. */
  forgetVerdict(id: string): void {
    const awaited = this.#awaited.get(id);
    if (awaited === undefined) return;
    awaited.waiting -= 1;
    if (awaited.waiting === 0) this.#awaited.delete(id);
  }

  /** Decisions whose outcome somebody waits for. */
  get awaitedVerdicts(): number {
    return this.#awaited.size;
  }

  carried(): CarriedInbox {
    const { paused, cancelReason } = this;
    return {
      messages: this.#messages,
      seen: newest([...this.#seen], REMEMBERED_IDS),
      paused,
      ...(cancelReason === undefined ? {} : { cancelReason }),
      ...(this.cancelAsked ? { cancelAsked: true as const } : {}),
      ...(this.#decisions.length === 0 ? {} : { decisions: this.#decisions }),
      ...(this.#raises.length === 0 ? {} : { raises: this.#raises }),
      ...(this.#refused.length === 0 ? {} : { refused: this.#refused }),
    };
  }
}
