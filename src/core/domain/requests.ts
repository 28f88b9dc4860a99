import { type DecidedCall, DECISION, type Decision, type RefusedRequest, REMEMBER } from './approvals.ts';
import { BYTE_BUDGETS, newest } from './byte-budgets.ts';
import { MESSAGE_CONTENT, MESSAGE_MODE } from './content.ts';
import { canonicalJson, type JsonObject } from './json.ts';
import { LIMIT_CHANGES, LIMITS, RUN_LIMITS, SESSION_LIMIT_VALUES, SESSION_LIMITS } from './limits.ts';
import { LATER_RULES } from './parts.ts';
import { IDENTITY } from './run.ts';
import * as s from './shape.ts';
import { fingerprint } from './text.ts';

// The Updates and Signals of a run: their arguments and answers.

export const ID = s.boundedText({ minLength: 1, maxLength: 64, description: 'Chosen by the caller: the same id is accepted once.' });
export const BY = s.boundedText({ minLength: 1, maxLength: 200, description: 'Who asks.' });
const REASON = s.boundedText({ maxLength: BYTE_BUDGETS.errorMessage });

export const SEND = s.closedObject({
  /** An id that the caller chooses, at most 64 characters: a message with the same id is accepted once. */
  id: ID,
  content: MESSAGE_CONTENT,
  /** Default `queue`. */
  mode: s.optional(MESSAGE_MODE),
  /**
   * The identity on whose behalf the sender acts: a run of another principal refuses the message as if it did not exist. Default: not
   * checked.
   */
  principal: s.optional(IDENTITY),
  /** The message is for a session, which began with this agent if one is named: any other run refuses it. Default: for any run. */
  session: s.optional(s.closedObject({ agent: s.optional(s.boundedText({ minLength: 1 })) })),
});

/** Argument of the Update and the Signal `send`. */
export interface SendInput extends s.ValueOf<typeof SEND> {}

const OF_DECISION = {
  callId: s.boundedText({ minLength: 1, maxLength: 200 }),
  /** An id that the caller chooses, at most 64 characters: a decision sent again with the same id returns the first outcome. */
  id: ID,
  /** The digest of the pending approval: a decision about other arguments is refused. */
  digest: s.boundedText({ minLength: 1 }),
  /** The approver, as claimed. */
  by: s.optional(BY),
};

export const APPROVE = s.closedObject({
  ...OF_DECISION,
  /** The arguments of the call, replacing the model's. For a limit: the new limits. */
  arguments: s.optional(s.JSON_OBJECT),
  remember: s.optional(REMEMBER),
});

/** Argument of the Update and the Signal `approve`. */
export interface ApproveInput extends s.ValueOf<typeof APPROVE> {}

export const REJECT = s.closedObject({
  ...OF_DECISION,
  /** The model reads it. */
  reason: s.optional(REASON),
  remember: s.optional(REMEMBER),
});

/** Argument of the Update and the Signal `reject`. */
export interface RejectInput extends s.ValueOf<typeof REJECT> {}

export const RESPOND = s.closedObject({
  ...OF_DECISION,
  /** The result of the call, instead of running the tool. */
  content: s.ANY_JSON,
});

/** Argument of the Update and the Signal `respond`. */
export interface RespondInput extends s.ValueOf<typeof RESPOND> {}

export const REVOKE = s.closedObject({
  /** The id of the decision that must no longer apply to further calls. */
  decision: s.boundedText({ minLength: 1 }),
});

/** Argument of the Update `revoke`. */
export interface RevokeInput extends s.ValueOf<typeof REVOKE> {}

export const RAISE = s.closedObject({ id: ID, limits: LIMIT_CHANGES, by: s.optional(BY) });
export const RAISE_SESSION = s.closedObject({ id: ID, session: SESSION_LIMITS, by: s.optional(BY) });

const RAISE_MEMBERS = {
  id: ID,
  /** Limits of the run. */
  limits: s.optional(LIMIT_CHANGES),
  /** Limits of a whole session, instead; `null` removes one. */
  session: s.optional(SESSION_LIMITS),
  by: s.optional(BY),
};

/** Argument of the Update and the Signal `raise`. */
export interface RaiseInput extends s.ObjectOf<typeof RAISE_MEMBERS> {}

export const CANCEL = s.closedObject({ reason: s.optional(REASON), by: s.optional(BY) });

/** Argument of the Signal `cancel`. */
export interface CancelInput extends s.ValueOf<typeof CANCEL> {}

export const INTERRUPT = s.closedObject({
  /** Interrupts only this turn. Default: the current one. */
  turn: s.optional(s.AT_LEAST_ONE),
  /** Between runs: interrupts only the turn that answers this call, as its text. */
  call: s.optional(s.boundedText({ minLength: 1, maxLength: 1_100 })),
  /** Why, for the record. */
  reason: s.optional(s.boundedText({ maxLength: 500 })),
  /** Who interrupts, for the record. */
  by: s.optional(BY),
});

/** Argument of the Update `interrupt`. */
export interface InterruptInput extends s.ValueOf<typeof INTERRUPT> {}

export const CLOSE = s.closedObject({ by: s.optional(BY) });

/** Argument of the Update `close`. */
export interface CloseInput extends s.ValueOf<typeof CLOSE> {}

const NEXT_TURN_MEMBERS = {
  /**
   * The number of the turn that answers the message, as far as the run knows. 1-based, from 2: a session begins with the first message. After
   * a reset of the run, the session may have had more turns.
   */
  turn: s.boundedNumber({ type: 'integer', minimum: 2 }),
  /** Absent if it is too large to be stored again: an activity of the session queries the run for it. */
  content: s.optional(s.TEXT),
  /** The call that asks, and contains the whole message: the id of its event, and its index in the event's content. */
  of: s.optional(s.object({ eventId: s.boundedText({ minLength: 1, maxLength: 1_000 }), index: s.COUNT })),
  /** The turn's share of the run's limits. Absent if the run shares no limit with it. */
  left: s.optional(LIMITS),
  /** The number of descendants that the turn may start. */
  runs: s.COUNT,
  /** The run's rules, if they have changed since it began. */
  ...LATER_RULES,
};

/** Argument of the Signal `nextTurn`: a run's message to a session that it keeps. */
export interface NextTurnInput extends s.ObjectOf<typeof NEXT_TURN_MEMBERS> {}
export const NEXT_TURN: s.Shape<NextTurnInput> = s.closedObject(NEXT_TURN_MEMBERS, {
  anyOf: [{ required: ['content'] }, { required: ['of'] }],
});

export const MESSAGE_RECEIPT_MEMBERS = {
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The id of the message: the given id, or a new one. */
  id: s.TEXT,
  /** `duplicate`: a message with that id was accepted before, and this one has no effect. */
  status: s.oneOf('queued', 'duplicate'),
  /** The number of messages in the queue. */
  queued: s.NUMBER,
  /** For a new message: the number of recorded events when it was accepted. Its own event has this offset or a later one. */
  offset: s.optional(s.NUMBER),
  /**
   * For a message to a session: the number of the turn that answers it. If that turn ends before the model reads it, the next turn does.
   */
  turn: s.optional(s.NUMBER),
  /** For a new message: the step whose model call reads it. 1-based. */
  beforeStep: s.optional(s.NUMBER),
};

/** Answer of the Update `send`. */
export interface MessageReceipt extends s.ObjectOf<typeof MESSAGE_RECEIPT_MEMBERS> {}
export const MESSAGE_RECEIPT: s.Shape<MessageReceipt> = s.object(MESSAGE_RECEIPT_MEMBERS);

export const DECISION_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** `repeated`: the same decision was accepted before, and this one has no effect. */
  status: s.oneOf('decided', 'repeated'),
  /** The decision that applies. */
  decision: s.shape<DecidedCall>(DECISION),
});

/** Answer of the Updates `approve`, `reject` and `respond`. */
export interface DecisionReceipt extends s.ValueOf<typeof DECISION_RECEIPT> {}

export const REVOKE_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** False if no decision with that id applied to further calls. */
  revoked: s.FLAG,
});

/** Answer of the Update `revoke`. */
export interface RevokeReceipt extends s.ValueOf<typeof REVOKE_RECEIPT> {}

export const RAISE_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The id of the request: repeating it has no effect. */
  id: s.TEXT,
  /** `duplicate`: a request with that id was accepted before, and this one has no effect. */
  status: s.oneOf('raised', 'duplicate'),
  /** The limits of the run, or of a turn, including all accepted raises. */
  limits: RUN_LIMITS,
  /** If limits of a whole session were raised: the limits of the session. */
  session: s.optional(SESSION_LIMIT_VALUES),
});

/** Answer of the Update `raise`. */
export interface RaiseReceipt extends s.ValueOf<typeof RAISE_RECEIPT> {}

export const PAUSE_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** Whether the run is paused now. */
  paused: s.FLAG,
});

/** Answer of the Updates `pause` and `resume`. */
export interface PauseReceipt extends s.ValueOf<typeof PAUSE_RECEIPT> {}

export const INTERRUPT_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** False if no such turn is running and there is nothing to interrupt. */
  interrupted: s.FLAG,
  /** The number of the turn. */
  turn: s.optional(s.NUMBER),
});

/** Answer of the Update `interrupt`. */
export interface InterruptReceipt extends s.ValueOf<typeof INTERRUPT_RECEIPT> {}

export const CLOSE_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The number of the current turn, after which the session closes. Absent if the session was idle. */
  turn: s.optional(s.NUMBER),
});

/** Answer of the Update `close`. */
export interface CloseReceipt extends s.ValueOf<typeof CLOSE_RECEIPT> {}

export const BEFORE_TURN_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The number of the turn before which the agent is resolved again or the conversation is emptied. */
  beforeTurn: s.NUMBER,
});

/** Answer of the Update `refresh`. */
export interface RefreshReceipt extends s.ValueOf<typeof BEFORE_TURN_RECEIPT> {}

/** Answer of the Update `reset`. */
export interface ResetReceipt extends s.ValueOf<typeof BEFORE_TURN_RECEIPT> {}

/** The ids of accepted requests, as carried into the next execution. */
export interface RememberedIds {
  /** Ids of accepted messages, newest last, for recognizing repeated messages. */
  seen: string[];
  /**
   * For a session: the turns that answer these messages, each with the number of consecutive ids. 0: not a message. Absent if no message
   * has a turn.
   */
  seenTurns?: [turn: number, ids: number][];
  /** The digests of these requests, one after the other. Absent if no request has one. */
  seenDigests?: string;
}

/** The digits of a digest: enough to notice an id that was used again by mistake, and few, because a run carries thousands of them. */
const DIGEST_DIGITS = 8;

/** Returns the digest of what a request asks for: it is the same for a repetition, and different for another request with the same id. */
export function requestDigest(name: string, asked: JsonObject): string {
  return fingerprint(canonicalJson([name, asked])).slice(-DIGEST_DIGITS);
}

/** Returns the refusal of a request with the id of an accepted one that asked for something else. */
export function reusedId(runId: string, id: string): { code: 'key_reused'; message: string } {
  return { code: 'key_reused', message: `Run "${runId}" has accepted another request with the id "${id}": send this one with a new id` };
}

/**
 * The minimum and maximum number of message ids that the next execution remembers, and their maximum bytes of JSON, including the digests.
 * Callers repeat a message within seconds, so the ids accepted by this execution are included, but not all ids of a session of months.
 */
const REMEMBERED_IDS = { atLeast: 200, count: 2_000, bytes: 140_000 };

/** The turn number of a request that no turn of a session answers. */
const NO_TURN = 0;

/** The digest of a request that has none. */
const NO_DIGEST = '-'.repeat(DIGEST_DIGITS);

/** What is remembered of an accepted request. */
interface AcceptedRequest {
  /** The number of the turn that answers the message. */
  turn: number;
  digest: string;
}

/** The ids of a run's accepted requests, oldest first. A repeated request is recognized by its id and its digest. */
export class AcceptedIds {
  readonly #requests = new Map<string, AcceptedRequest>();
  /** The number of ids accepted by earlier executions. */
  readonly #before: number;

  constructor({ seen, seenTurns = [], seenDigests = '' }: RememberedIds) {
    const parts = seenTurns[Symbol.iterator]();
    let [turn, left] = [NO_TURN, 0];
    for (const [index, id] of seen.entries()) {
      if (left === 0) [turn, left] = parts.next().value ?? [NO_TURN, Infinity];
      left -= 1;
      const digest = seenDigests.slice(index * DIGEST_DIGITS, (index + 1) * DIGEST_DIGITS) || NO_DIGEST;
      this.#requests.set(id, { turn, digest });
    }
    this.#before = this.#requests.size;
  }

  has(id: string): boolean {
    return this.#requests.has(id);
  }

  /** True if a request with the id, but another digest, was accepted before. */
  hasOther(id: string, digest: string): boolean {
    const known = this.#requests.get(id)?.digest ?? NO_DIGEST;
    return known !== NO_DIGEST && known !== digest;
  }

  /** Adds a request; for a session message, with the number of the turn that answers it. Returns false if it was accepted before. */
  add(id: string, turn = NO_TURN): boolean {
    if (this.#requests.has(id)) return false;
    this.#requests.set(id, { turn, digest: NO_DIGEST });
    return true;
  }

  /** Remembers the digest of an accepted request. The first one for an id stays. */
  note(id: string, digest: string): void {
    const known = this.#requests.get(id);
    if (known === undefined || known.digest === NO_DIGEST) this.#requests.set(id, { turn: known?.turn ?? NO_TURN, digest });
  }

  /** Returns the number of the turn that answers a message, or undefined if no turn does. */
  turnOf(id: string): number | undefined {
    return this.#requests.get(id)?.turn || undefined;
  }

  /** Assigns messages to another turn. */
  move(ids: readonly string[], turn: number): void {
    for (const id of ids) {
      const known = this.#requests.get(id);
      if (known !== undefined && known.turn !== NO_TURN) this.#requests.set(id, { ...known, turn });
    }
  }

  /** Returns the ids that the next execution remembers. `unread`: the number of messages that are not yet recorded. */
  carried(unread: number): RememberedIds {
    const { atLeast, count, bytes } = REMEMBERED_IDS;
    const accepted = this.#requests.size - this.#before;
    const known = [...this.#requests].map(([id, { digest }]) => id + digest);
    const seen = newest(known, { count: Math.min(count, Math.max(atLeast + unread, accepted)), bytes }).map((one) =>
      one.slice(0, -DIGEST_DIGITS),
    );
    const requests = seen.map((id) => this.#requests.get(id) ?? { turn: NO_TURN, digest: NO_DIGEST });
    return {
      seen,
      ...(requests.every(({ turn }) => turn === NO_TURN) ? {} : { seenTurns: partsOf(requests) }),
      ...(requests.every(({ digest }) => digest === NO_DIGEST) ? {} : { seenDigests: requests.map(({ digest }) => digest).join('') }),
    };
  }
}

/** Returns the turns of requests, each with the number of consecutive requests that it answers. */
function partsOf(requests: readonly AcceptedRequest[]): [turn: number, ids: number][] {
  const parts: [number, number][] = [];
  for (const { turn } of requests) {
    const last = parts.at(-1);
    if (last?.[0] === turn) last[1] += 1;
    else parts.push([turn, 1]);
  }
  return parts;
}

/** The outcome of a decision, for a waiting sender. */
export type Verdict = { type: 'decided'; decision: Decision } | { type: 'refused'; code: RefusedRequest['code']; message: string };

/** The outcome of a decision, and the number of callers waiting for it. */
interface Awaited {
  waiting: number;
  verdict: Verdict | undefined;
}

/** The decisions with waiting senders. An outcome is kept only while a sender waits, because it contains arguments and answers. */
export class AwaitedVerdicts {
  readonly #awaited = new Map<string, Awaited>();

  /** Records that a caller waits for the outcome of a decision, until `forget`. */
  await(id: string): void {
    const awaited = this.#awaited.get(id);
    if (awaited === undefined) this.#awaited.set(id, { waiting: 1, verdict: undefined });
    else awaited.waiting += 1;
  }

  /** Stores the outcome of a decision for the callers who wait for it. */
  settle(id: string, verdict: Verdict): void {
    const awaited = this.#awaited.get(id);
    if (awaited !== undefined) awaited.verdict = verdict;
  }

  /** Returns the outcome of a decision, or undefined if there is none yet or no caller waits for it. */
  on(id: string): Verdict | undefined {
    return this.#awaited.get(id)?.verdict;
  }

  /** Records that a caller no longer waits. When the last one has stopped waiting, the outcome is dropped. */
  forget(id: string): void {
    const awaited = this.#awaited.get(id);
    if (awaited === undefined) return;
    awaited.waiting -= 1;
    if (awaited.waiting === 0) this.#awaited.delete(id);
  }

  /** The number of decisions that a caller waits for. */
  get size(): number {
    return this.#awaited.size;
  }
}
