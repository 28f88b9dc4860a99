import type { DecidedCall, Remember } from '../approvals/approval.ts';
import type { ContentPart } from '../content/content.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { LimitChanges, RunLimits } from '../agent/limits.ts';
import type { MessageMode } from '../record/queued-message.ts';

/** Argument of the Update and the Signal `send`. */
export interface SendInput {
  /** The caller's own, at most 64 characters: a message of the same id is taken once. */
  id: string;
  content: string | ContentPart[];
  /** Default `queue`. */
  mode?: MessageMode;
}

/** What every decision says: whose it is, and about what. */
interface DecisionInput {
  callId: string;
  /** The caller's own, at most 64 characters: the same decision sent again is answered with what happened. */
  id: string;
  /** As it came with the pending approval: a decision about other arguments is refused. */
  digest: string;
  /** Who decides, as they say. */
  by?: string;
}

/** Argument of the Update and the Signal `approve`. */
export interface ApproveInput extends DecisionInput {
  /** Runs the call with these arguments instead. For a limit: the limits to set. */
  arguments?: JsonObject;
  remember?: Remember;
}

/** Argument of the Update and the Signal `reject`. */
export interface RejectInput extends DecisionInput {
  /** For the model to read. */
  reason?: string;
  remember?: Remember;
}

/** Argument of the Update and the Signal `respond`. */
export interface RespondInput extends DecisionInput {
  /** What the call is answered with, in the tool's stead. */
  content: JsonValue;
}

/** Argument of the Update `revoke`. */
export interface RevokeInput {
  /** The id of the decision that is not to hold for further calls any more. */
  decision: string;
}

/** Argument of the Update `raise`. */
export interface RaiseInput {
  /** The caller's own, at most 64 characters. */
  id: string;
  limits: LimitChanges;
  by?: string;
}

/** Argument of the Signal `cancel`. */
export interface CancelInput {
  reason?: string;
  by?: string;
}

/** Argument of the Signal `cancelReason`, which goes ahead of a request to cancel whose own reason would be clear text. */
export interface CancelReasonInput {
  reason: string;
}

/** Answer of the Update `send`. */
export interface MessageReceipt {
  version: 1;
  id: string;
  /** `duplicate`: a message of that id has been accepted before, and this one changes nothing. */
  status: 'queued' | 'duplicate';
  /** Messages that wait to be taken in. */
  queued: number;
  /** For a new message: the record had so many events when it was accepted, and has the message at that offset or later. */
  offset?: number;
  /** For a new message: the step whose model call reads it. 1-based. */
  beforeStep?: number;
}

/** Answer of the Updates `approve`, `reject` and `respond`. */
export interface DecisionReceipt {
  version: 1;
  /** `repeated`: the same decision had been taken before, and this one changes nothing. */
  status: 'decided' | 'repeated';
  decision: DecidedCall;
}

/** Answer of the Update `revoke`. */
export interface RevokeReceipt {
  version: 1;
  /** False where no decision of that id held for further calls. */
  revoked: boolean;
}

/** Answer of the Update `raise`. */
export interface RaiseReceipt {
  version: 1;
  id: string;
  status: 'raised' | 'duplicate';
  /** As they are now. */
  limits: RunLimits;
}

/** Answer of the Updates `pause` and `resume`. */
export interface PauseReceipt {
  version: 1;
  paused: boolean;
}
