import { DECISION, type DecidedCall, REMEMBER } from './approvals.ts';
import { BYTE_BUDGETS } from './byte-budgets.ts';
import { MESSAGE_CONTENT, MESSAGE_MODE } from './content.ts';
import { LIMIT_CHANGES, LIMITS, RUN_LIMITS, SESSION_LIMITS } from './limits.ts';
import { MAX_LAYERS, PERMISSIONS } from './permissions.ts';
import { IDENTITY } from './run.ts';
import {
  ANY_JSON,
  AT_LEAST_ONE,
  boundedNumber,
  boundedText,
  closedObject,
  COUNT,
  FLAG,
  JSON_OBJECT,
  listOf,
  NUMBER,
  object,
  type ObjectOf,
  oneOf,
  optional,
  type Shape,
  shape,
  TEXT,
  type ValueOf,
  VERSION,
} from './shape.ts';

// What a run is asked by Updates and Signals, and what it answers.

const ID = boundedText({ minLength: 1, maxLength: 64, description: 'Your own: the same id is taken once.' });
const BY = boundedText({ minLength: 1, maxLength: 200, description: 'Who asks.' });
const REASON = boundedText({ maxLength: BYTE_BUDGETS.errorMessage });

export const SEND = closedObject({
  /** An id that the caller chooses, at most 64 characters: a message with the same id is accepted once. */
  id: ID,
  content: MESSAGE_CONTENT,
  /** Default `queue`. */
  mode: optional(MESSAGE_MODE),
  /** The identity on whose behalf the sender acts: a run of another principal refuses the message as if it did not exist. Default: not checked. */
  principal: optional(IDENTITY),
});

/** Argument of the Update and the Signal `send`. */
export interface SendInput extends ValueOf<typeof SEND> {}

const OF_DECISION = {
  callId: boundedText({ minLength: 1, maxLength: 200 }),
  /** An id that the caller chooses, at most 64 characters: a decision sent again with the same id returns the first outcome. */
  id: ID,
  /** The digest of the pending approval: a decision about other arguments is refused. */
  digest: boundedText({ minLength: 1 }),
  /** The approver, as claimed. */
  by: optional(BY),
};

export const APPROVE = closedObject({
  ...OF_DECISION,
  /** The arguments with which the call runs instead of the model's. For a limit: the limits to set. */
  arguments: optional(JSON_OBJECT),
  remember: optional(REMEMBER),
});

/** Argument of the Update and the Signal `approve`. */
export interface ApproveInput extends ValueOf<typeof APPROVE> {}

export const REJECT = closedObject({
  ...OF_DECISION,
  /** The model reads it. */
  reason: optional(REASON),
  remember: optional(REMEMBER),
});

/** Argument of the Update and the Signal `reject`. */
export interface RejectInput extends ValueOf<typeof REJECT> {}

export const RESPOND = closedObject({
  ...OF_DECISION,
  /** The result of the call, given instead of running the tool. */
  content: ANY_JSON,
});

/** Argument of the Update and the Signal `respond`. */
export interface RespondInput extends ValueOf<typeof RESPOND> {}

export const REVOKE = closedObject({
  /** The id of the decision that no longer applies to further calls. */
  decision: boundedText({ minLength: 1 }),
});

/** Argument of the Update `revoke`. */
export interface RevokeInput extends ValueOf<typeof REVOKE> {}

export const RAISE = closedObject({ id: ID, limits: LIMIT_CHANGES, by: optional(BY) });
export const RAISE_SESSION = closedObject({ id: ID, session: SESSION_LIMITS, by: optional(BY) });

const RAISE_MEMBERS = {
  id: ID,
  /** Limits of the run. */
  limits: optional(LIMIT_CHANGES),
  /** Instead, limits of a whole session; `null` lifts one. */
  session: optional(SESSION_LIMITS),
  by: optional(BY),
};

/** Argument of the Update and the Signal `raise`. */
export interface RaiseInput extends ObjectOf<typeof RAISE_MEMBERS> {}

export const SET_PERMISSIONS_INPUT = closedObject({
  /** An id that the caller chooses, at most 64 characters. */
  id: ID,
  /** The whole policy of the run, in place of the present one. */
  permissions: PERMISSIONS,
  by: optional(BY),
});

/** Argument of the Update `setPermissions`. */
export interface SetPermissionsInput extends ValueOf<typeof SET_PERMISSIONS_INPUT> {}

export const CANCEL = closedObject({ reason: optional(REASON), by: optional(BY) });

/** Argument of the Signal `cancel`. */
export interface CancelInput extends ValueOf<typeof CANCEL> {}

export const INTERRUPT = closedObject({
  /** Interrupts only this turn. Default: the current one. */
  turn: optional(AT_LEAST_ONE),
  reason: optional(boundedText({ maxLength: 500 })),
  by: optional(BY),
});

/** Argument of the Update `interrupt`. */
export interface InterruptInput extends ValueOf<typeof INTERRUPT> {}

export const CLOSE = closedObject({ by: optional(BY) });

/** Argument of the Update `close`. */
export interface CloseInput extends ValueOf<typeof CLOSE> {}

const NEXT_TURN_MEMBERS = {
  /** The number of the turn that answers the message. 1-based, from 2: a session begins with the first message. */
  turn: boundedNumber({ type: 'integer', minimum: 2 }),
  /** Absent if it is too large to be stored again: an activity of the session asks the run for it. */
  content: optional(TEXT),
  /** The call that holds the whole message: the id of its event, and its index in the content of that event. */
  of: optional(object({ eventId: boundedText({ minLength: 1, maxLength: 1_000 }), index: COUNT })),
  /** The part of the limits of the run that the turn is given. Absent if the run shares no limit with it. */
  left: optional(LIMITS),
  /** The number of runs that the turn may start, with those below them. */
  runs: COUNT,
  /** The policies that hold for the run, if they have changed since it began. */
  permissions: optional(listOf(PERMISSIONS, { maxItems: MAX_LAYERS })),
};

/** Argument of the Signal `nextTurn`: a message of a run to a session that it keeps. */
export interface NextTurnInput extends ObjectOf<typeof NEXT_TURN_MEMBERS> {}
export const NEXT_TURN: Shape<NextTurnInput> = closedObject(NEXT_TURN_MEMBERS, {
  anyOf: [{ required: ['content'] }, { required: ['of'] }],
});

export const MESSAGE_RECEIPT_MEMBERS = {
  version: VERSION,
  id: TEXT,
  /** `duplicate`: a message with that id was accepted before, and this one changes nothing. */
  status: oneOf('queued', 'duplicate'),
  /** The number of messages in the queue. */
  queued: NUMBER,
  /** For a new message: the number of recorded events when it was accepted. Its own event has this offset or a later one. */
  offset: optional(NUMBER),
  /** For a message to a session: the number of the turn that answers it, unless that ends before the model reads it: then the next one does. */
  turn: optional(NUMBER),
  /** For a new message: the step whose model call reads it. 1-based. */
  beforeStep: optional(NUMBER),
};

/** Answer of the Update `send`. */
export interface MessageReceipt extends ObjectOf<typeof MESSAGE_RECEIPT_MEMBERS> {}
export const MESSAGE_RECEIPT: Shape<MessageReceipt> = object(MESSAGE_RECEIPT_MEMBERS);

export const DECISION_RECEIPT = object({
  version: VERSION,
  /** `repeated`: the same decision was accepted before, and this one changes nothing. */
  status: oneOf('decided', 'repeated'),
  decision: shape<DecidedCall>(DECISION),
});

/** Answer of the Updates `approve`, `reject` and `respond`. */
export interface DecisionReceipt extends ValueOf<typeof DECISION_RECEIPT> {}

export const REVOKE_RECEIPT = object({
  version: VERSION,
  /** False if no decision with that id applied to further calls. */
  revoked: FLAG,
});

/** Answer of the Update `revoke`. */
export interface RevokeReceipt extends ValueOf<typeof REVOKE_RECEIPT> {}

export const RAISE_RECEIPT = object({
  version: VERSION,
  id: TEXT,
  status: oneOf('raised', 'duplicate'),
  /** The current limits. */
  limits: RUN_LIMITS,
});

/** Answer of the Update `raise`. */
export interface RaiseReceipt extends ValueOf<typeof RAISE_RECEIPT> {}

export const SET_PERMISSIONS_RECEIPT = object({
  version: VERSION,
  id: TEXT,
  /** `to_authorize`: they would be wider, and the worker decides before the next model call. The outcome is an event of the run. */
  status: oneOf('set', 'to_authorize', 'duplicate'),
});

/** Answer of the Update `setPermissions`. */
export interface SetPermissionsReceipt extends ValueOf<typeof SET_PERMISSIONS_RECEIPT> {}

export const PAUSE_RECEIPT = object({ version: VERSION, paused: FLAG });

/** Answer of the Updates `pause` and `resume`. */
export interface PauseReceipt extends ValueOf<typeof PAUSE_RECEIPT> {}

export const INTERRUPT_RECEIPT = object({
  version: VERSION,
  /** False if no such turn is running: there is nothing to interrupt. */
  interrupted: FLAG,
  /** The number of the turn. */
  turn: optional(NUMBER),
});

/** Answer of the Update `interrupt`. */
export interface InterruptReceipt extends ValueOf<typeof INTERRUPT_RECEIPT> {}

export const CLOSE_RECEIPT = object({
  version: VERSION,
  /** The number of the current turn: the session closes after it. Absent if the session was idle. */
  turn: optional(NUMBER),
});

/** Answer of the Update `close`. */
export interface CloseReceipt extends ValueOf<typeof CLOSE_RECEIPT> {}

export const BEFORE_TURN_RECEIPT = object({
  version: VERSION,
  /** The number of the turn before which the agent is resolved again, or which begins with an empty conversation. */
  beforeTurn: NUMBER,
});

/** Answer of the Update `refresh`. */
export type RefreshReceipt = ValueOf<typeof BEFORE_TURN_RECEIPT>;

/** Answer of the Update `reset`. */
export type ResetReceipt = ValueOf<typeof BEFORE_TURN_RECEIPT>;
