import type { DeadlineAction, Decision, PendingApproval } from '../core/domain/approvals/approval.ts';
import type { JsonObject, JsonValue } from '../core/domain/json/json.ts';
import type { Resources } from './run-context.ts';

/** A decision that somebody has sent, before it is applied. */
export interface DecisionToAuthorize {
  /** The sender's own: the same decision sent again has the same. */
  readonly id: string;
  /** Lets the call run, rejects it, or answers it in the tool's stead. */
  readonly type: Decision['type'];
  readonly callId: string;
  /** `raise_limits` for a limit. */
  readonly toolName: string;
  /** Of the call, as the model gave them. Empty for a limit. */
  readonly arguments: JsonObject;
  /** On an approval: the arguments to run the call with instead; for a limit, the limits to set. */
  readonly editedArguments?: JsonObject;
  /** On a response: the answer. */
  readonly content?: JsonValue;
  readonly reason?: string;
  /** The decision is to hold for further calls: of the tool, or of the tool with equal arguments. */
  readonly remember?: Decision['remember'];
  /** Who decides, as they say. */
  readonly by: string | null;
  /** How it was sent. */
  readonly source: Decision['source'];
}

/** What `authorize` and `notify` receive beside what they are about. */
export interface DecisionHookContext {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<JsonObject>;
  readonly resources: Resources;
  /** Aborted when the run is cancelled, the time is up, or the worker shuts down. */
  readonly signal: AbortSignal;
}

/** What `authorize` receives beside the decision. */
export interface AuthorizeContext extends DecisionHookContext {
  readonly runId: string;
  /** The name of the agent. */
  readonly agent: string;
}

/** Who decides, as verified: recorded with the decision. Or why they may not: the call goes on waiting, and the sender reads it. */
export type AuthorizeAnswer = { readonly as: string } | { readonly refuse: string };

/**
 * Called in an activity with each decision that arrives, before it is applied; not for decisions by a deadline and not
 * for those that hold for further calls. May be called again for the same decision. What it throws is a refusal, too, with its message.
 */
export type AuthorizeDecision = (decision: DecisionToAuthorize, context: AuthorizeContext) => AuthorizeAnswer | Promise<AuthorizeAnswer>;

/** Something that waits for a decision, as `notify` is told. */
export interface WaitingNotice {
  /** The same whenever somebody is told of this, and of nothing else: hand it to whatever must not tell twice. */
  readonly id: string;
  readonly runId: string;
  readonly agentName: string;
  readonly callId: string;
  /** `raise_limits` for a limit. */
  readonly toolName: string;
  /** A call of a tool, a question to a person, or a limit that the run has come to. */
  readonly kind: PendingApproval['kind'];
  /** Of the call; of a limit, what an approval sets. */
  readonly arguments: JsonObject;
  /** What a decision has to say, beside the call id. */
  readonly digest: string;
  /** When it is decided by itself. ISO 8601. */
  readonly deadline?: string;
  /** What happens then. */
  readonly onDeadline?: DeadlineAction;
  readonly reason?: string;
}

/** Called in an activity when something begins to wait: at least once, with a stable id. Throwing is tried again. */
export type NotifyWaiting = (waiting: WaitingNotice, context: DecisionHookContext) => Promise<void> | void;
