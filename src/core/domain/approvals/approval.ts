import type { JsonObject, JsonValue } from '../json/json.ts';
import type { LimitChanges } from '../agent/limits.ts';

/** What becomes of a call that nobody has decided when its deadline is over. */
export type DeadlineAction = 'approve' | 'reject';

/** How long a call waits for a decision, and what happens then. Without a deadline it waits for as long as it takes. */
export interface ApprovalDeadline {
  /** Milliseconds from the moment in which the call begins to wait. */
  deadlineMs?: number;
  /** Default `reject`. */
  onDeadline?: DeadlineAction;
}

/** When the calls of a tool wait for a decision: always, or where a predicate of the agent's code says so. Pinned in the snapshot. */
export interface ApprovalPolicy extends ApprovalDeadline {
  when: 'always' | 'predicate';
}

/** The terms of one call that needs a decision, as the activity that read the model's response recorded them. */
export interface ApprovalRequirement extends ApprovalDeadline {
  /** SHA-256 (base64url, shortened) over the name and the arguments of the call: what a decision is bound to. */
  digest: string;
  /** Why the call needs one, where the predicate said so. */
  reason?: string;
}

/**
 * What waits for a decision: a call of a tool, a question to a person, a limit that the run has come to, or what became
 * of a call whose answer was lost.
 */
export interface PendingApproval {
  kind: 'tool' | 'question' | 'limit' | 'outcome';
  callId: string;
  /** The tool; `raise_limits` for a limit. */
  toolName: string;
  digest: string;
  /** Unique in the run, and the same whenever somebody is told of it. */
  key: string;
  /** The step that waits. 1-based. */
  step: number;
  /** Milliseconds since the epoch. */
  requestedAt: number;
  /** Milliseconds since the epoch. */
  deadlineAt?: number;
  onDeadline?: DeadlineAction;
  reason?: string;
  /** For a limit: the limits that an approval sets. */
  proposal?: LimitChanges;
  /** True once `notify` has told of it; false if it has failed for good. Absent while it is under way, and where there is no `notify`. */
  notified?: boolean;
}

/** Something that waits for a decision, as a person or a service sees it. */
export interface ApprovalView extends PendingApproval {
  /** Of the call; of a limit, what an approval sets. */
  arguments: JsonObject;
  /** The arguments are too large for a list: those shown are a beginning, as text, under `text`. */
  argumentsCut?: true;
  /** For a question: what the answer must fit. */
  answer?: JsonObject;
}

/** The name under which a limit waits for a person. */
export const RAISE_LIMITS = 'raise_limits';

/** Which further calls a decision holds for: calls of the tool, or calls of the tool with equal arguments. */
export type Remember = 'tool' | 'arguments';

/** What somebody decided about a call. */
export interface Decision {
  /** The caller's own: the same decision sent again is the same decision. */
  id: string;
  type: 'approve' | 'reject' | 'respond';
  callId: string;
  toolName: string;
  digest: string;
  /** On an approval: the arguments to run the call with, where they are other than the model's. */
  arguments?: JsonObject;
  /** On a response: what the call is answered with, in the tool's stead. */
  content?: JsonValue;
  reason?: string;
  remember?: Remember;
  /** Who decided, as claimed. */
  by: string | null;
  /** Who decided, as `authorize` has verified. */
  verifiedBy?: string;
  source: 'update' | 'signal' | 'deadline' | 'remembered';
  /** ISO 8601. */
  at: string;
}

/** A decision without its content: what a run keeps in memory of it. */
export type DecidedCall = Omit<Decision, 'arguments' | 'content'>;

/** A decision that holds for further calls. */
export interface RememberedDecision {
  /** Of the decision. */
  id: string;
  type: 'approve' | 'reject';
  toolName: string;
  /** Where it holds for equal arguments alone. */
  digest?: string;
  reason?: string;
  by: string | null;
  verifiedBy?: string;
  /** ISO 8601. */
  at: string;
}

/** Something that was asked of a run from outside, and refused when its sender could not be told any more, or by `authorize`. */
export interface RefusedRequest {
  /** `approve`, `reject`, `respond`, `send`, `cancel`. */
  request: string;
  /** The caller's own. */
  id?: string;
  callId?: string;
  /** As claimed. */
  by?: string;
  code: string;
  message: string;
}

/** Who decided, in a few words: the verified identity, else the claim. */
export function decider({ by, verifiedBy, source }: Pick<Decision, 'by' | 'verifiedBy' | 'source'>): string {
  if (source === 'deadline') return 'the deadline';
  return verifiedBy ?? by ?? 'somebody who gave no name';
}
