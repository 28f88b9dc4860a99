import type { Permissions } from '../permissions/permissions.ts';
import type { DecidedCall, Remember } from '../approvals/approval.ts';
import type { ContentPart } from '../content/content.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { LimitChanges, RunLimits } from '../agent/limits.ts';
import type { SessionLimits } from '../sessions/session-limits.ts';
import type { Principal } from './principal.ts';
import type { MessageMode } from '../record/queued-message.ts';

/** Argument of the Update and the Signal `send`. */
export interface SendInput {
  /** An id that the caller chooses, at most 64 characters: a message with the same id is accepted once. */
  id: string;
  content: string | ContentPart[];
  /** Default `queue`. */
  mode?: MessageMode;
  /** Whom the sender acts for: a run of another principal refuses the message as if it did not exist. Default: not checked. */
  principal?: Pick<Principal, 'tenant' | 'user'>;
}

/** The fields of every decision. */
interface DecisionInput {
  callId: string;
  /** An id that the caller chooses, at most 64 characters: a decision sent again with the same id returns the first outcome. */
  id: string;
  /** The digest of the pending approval: a decision about other arguments is refused. */
  digest: string;
  /** The approver, as claimed. */
  by?: string;
}

/** Argument of the Update and the Signal `approve`. */
export interface ApproveInput extends DecisionInput {
  /** The arguments with which the call runs instead of the model's. For a limit: the limits to set. */
  arguments?: JsonObject;
  remember?: Remember;
}

/** Argument of the Update and the Signal `reject`. */
export interface RejectInput extends DecisionInput {
  /** The model reads it. */
  reason?: string;
  remember?: Remember;
}

/** Argument of the Update and the Signal `respond`. */
export interface RespondInput extends DecisionInput {
  /** The result of the call, given instead of running the tool. */
  content: JsonValue;
}

/** Argument of the Update `revoke`. */
export interface RevokeInput {
  /** The id of the decision that no longer applies to further calls. */
  decision: string;
}

/** Argument of the Update and the Signal `raise`. */
export interface RaiseInput {
  /** An id that the caller chooses, at most 64 characters. */
  id: string;
  /** Limits of the run. */
  limits?: LimitChanges;
  /** Instead, limits of a whole session; `null` lifts one. */
  session?: SessionLimits;
  by?: string;
}

/** Argument of the Update `setPermissions`. */
export interface SetPermissionsInput {
  /** An id that the caller chooses, at most 64 characters. */
  id: string;
  /** The whole policy of the run, in place of the present one. */
  permissions: Permissions;
  by?: string;
}

/** Argument of the Signal `cancel`. */
export interface CancelInput {
  reason?: string;
  by?: string;
}

/**
 * Argument of the Signal `cancelReason`. The client sends it before a request to cancel, because the reason in that request would
 * not be encrypted.
 */
export interface CancelReasonInput {
  reason: string;
}

/** Answer of the Update `send`. */
export interface MessageReceipt {
  version: 1;
  id: string;
  /** `duplicate`: a message with that id was accepted before, and this one changes nothing. */
  status: 'queued' | 'duplicate';
  /** The number of messages in the queue. */
  queued: number;
  /** For a new message: the number of recorded events when it was accepted. Its own event has this offset or a later one. */
  offset?: number;
  /** For a message to a session: the number of the turn that answers it, unless that ends before the model reads it: then the next one does. */
  turn?: number;
  /** For a new message: the step whose model call reads it. 1-based. */
  beforeStep?: number;
}

/** Answer of the Updates `approve`, `reject` and `respond`. */
export interface DecisionReceipt {
  version: 1;
  /** `repeated`: the same decision was accepted before, and this one changes nothing. */
  status: 'decided' | 'repeated';
  decision: DecidedCall;
}

/** Answer of the Update `revoke`. */
export interface RevokeReceipt {
  version: 1;
  /** False if no decision with that id applied to further calls. */
  revoked: boolean;
}

/** Answer of the Update `raise`. */
export interface RaiseReceipt {
  version: 1;
  id: string;
  status: 'raised' | 'duplicate';
  /** The current limits. */
  limits: RunLimits;
}

/** Answer of the Update `setPermissions`. */
export interface SetPermissionsReceipt {
  version: 1;
  id: string;
  /** `to_authorize`: they would be wider, and the worker decides before the next model call. The outcome is an event of the run. */
  status: 'set' | 'to_authorize' | 'duplicate';
}

/** Answer of the Updates `pause` and `resume`. */
export interface PauseReceipt {
  version: 1;
  paused: boolean;
}
