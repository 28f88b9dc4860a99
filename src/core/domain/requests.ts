import { DECISION, type DecidedCall, REMEMBER } from './approvals.ts';
import { BYTE_BUDGETS } from './byte-budgets.ts';
import { MESSAGE_CONTENT, MESSAGE_MODE } from './content.ts';
import { LIMIT_CHANGES, LIMITS, RUN_LIMITS, SESSION_LIMITS } from './limits.ts';
import { LATER_RULES } from './parts.ts';
import { IDENTITY } from './run.ts';
import * as s from './shape.ts';

// What a run is asked by Updates and Signals, and what it answers.

export const ID = s.boundedText({ minLength: 1, maxLength: 64, description: 'Your own: the same id is taken once.' });
export const BY = s.boundedText({ minLength: 1, maxLength: 200, description: 'Who asks.' });
const REASON = s.boundedText({ maxLength: BYTE_BUDGETS.errorMessage });

export const SEND = s.closedObject({
  /** An id that the caller chooses, at most 64 characters: a message with the same id is accepted once. */
  id: ID,
  content: MESSAGE_CONTENT,
  /** Default `queue`. */
  mode: s.optional(MESSAGE_MODE),
  /** The identity on whose behalf the sender acts: a run of another principal refuses the message as if it did not exist. Default: not checked. */
  principal: s.optional(IDENTITY),
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
  /** The arguments with which the call runs instead of the model's. For a limit: the limits to set. */
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
  /** The result of the call, given instead of running the tool. */
  content: s.ANY_JSON,
});

/** Argument of the Update and the Signal `respond`. */
export interface RespondInput extends s.ValueOf<typeof RESPOND> {}

export const REVOKE = s.closedObject({
  /** The id of the decision that no longer applies to further calls. */
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
  /** Instead, limits of a whole session; `null` lifts one. */
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
  /** The number of the turn that answers the message. 1-based, from 2: a session begins with the first message. */
  turn: s.boundedNumber({ type: 'integer', minimum: 2 }),
  /** Absent if it is too large to be stored again: an activity of the session asks the run for it. */
  content: s.optional(s.TEXT),
  /** The call that holds the whole message: the id of its event, and its index in the content of that event. */
  of: s.optional(s.object({ eventId: s.boundedText({ minLength: 1, maxLength: 1_000 }), index: s.COUNT })),
  /** The part of the limits of the run that the turn is given. Absent if the run shares no limit with it. */
  left: s.optional(LIMITS),
  /** The number of runs that the turn may start, with those below them. */
  runs: s.COUNT,
  /** The rules that hold for the run, if they have changed since it began. */
  ...LATER_RULES,
};

/** Argument of the Signal `nextTurn`: a message of a run to a session that it keeps. */
export interface NextTurnInput extends s.ObjectOf<typeof NEXT_TURN_MEMBERS> {}
export const NEXT_TURN: s.Shape<NextTurnInput> = s.closedObject(NEXT_TURN_MEMBERS, {
  anyOf: [{ required: ['content'] }, { required: ['of'] }],
});

export const MESSAGE_RECEIPT_MEMBERS = {
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The id of the message: the one that was given, or a new one. */
  id: s.TEXT,
  /** `duplicate`: a message with that id was accepted before, and this one changes nothing. */
  status: s.oneOf('queued', 'duplicate'),
  /** The number of messages in the queue. */
  queued: s.NUMBER,
  /** For a new message: the number of recorded events when it was accepted. Its own event has this offset or a later one. */
  offset: s.optional(s.NUMBER),
  /** For a message to a session: the number of the turn that answers it, unless that ends before the model reads it: then the next one does. */
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
  /** `repeated`: the same decision was accepted before, and this one changes nothing. */
  status: s.oneOf('decided', 'repeated'),
  /** The decision that holds. */
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
  /** The id of the request: the same id again changes nothing. */
  id: s.TEXT,
  /** `duplicate`: a request with that id was accepted before, and this one changes nothing. */
  status: s.oneOf('raised', 'duplicate'),
  /** The current limits. */
  limits: RUN_LIMITS,
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
  /** False if no such turn is running: there is nothing to interrupt. */
  interrupted: s.FLAG,
  /** The number of the turn. */
  turn: s.optional(s.NUMBER),
});

/** Answer of the Update `interrupt`. */
export interface InterruptReceipt extends s.ValueOf<typeof INTERRUPT_RECEIPT> {}

export const CLOSE_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The number of the current turn: the session closes after it. Absent if the session was idle. */
  turn: s.optional(s.NUMBER),
});

/** Answer of the Update `close`. */
export interface CloseReceipt extends s.ValueOf<typeof CLOSE_RECEIPT> {}

export const BEFORE_TURN_RECEIPT = s.object({
  /** The version of this form: 1. */
  version: s.VERSION,
  /** The number of the turn before which the agent is resolved again, or which begins with an empty conversation. */
  beforeTurn: s.NUMBER,
});

/** Answer of the Update `refresh`. */
export interface RefreshReceipt extends s.ValueOf<typeof BEFORE_TURN_RECEIPT> {}

/** Answer of the Update `reset`. */
export interface ResetReceipt extends s.ValueOf<typeof BEFORE_TURN_RECEIPT> {}
