import type { DeadlineAction, Decision, PendingApproval } from '../core/domain/approvals.ts';
import type { JsonObject, JsonValue } from '../core/domain/json.ts';
import type { RunSubject } from '../core/domain/run.ts';
import type { Resources } from './context/run-context.ts';

/** A decision that was sent, before it is applied. */
export interface DecisionToAuthorize {
  /** The sender's id of the decision: the same decision sent again has the same. */
  readonly id: string;
  /** The type: it lets the call run, rejects it, or answers it instead of the tool. */
  readonly type: Decision['type'];
  readonly callId: string;
  /** `raise_limits` for a limit. */
  readonly toolName: string;
  /** The arguments of the call, as the model set them. Empty for a limit. */
  readonly arguments: JsonObject;
  /** The arguments that an approval runs the call with instead; for a limit, the limits to set. */
  readonly editedArguments?: JsonObject;
  /** The answer of a response. */
  readonly content?: JsonValue;
  readonly reason?: string;
  /** Set if the decision is to hold for further calls: of the tool, or of the tool with equal arguments. */
  readonly remember?: Decision['remember'];
  /** The person or service that decides, by its own account: not verified. */
  readonly by: string | null;
  /** The way in which it was sent. */
  readonly source: Decision['source'];
}

/** The context that `authorize` and `notify` receive as their second argument. */
export interface DecisionHookContext {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<JsonObject>;
  readonly resources: Resources;
  /** Aborted when the run is cancelled, the time is up, or the worker shuts down. */
  readonly signal: AbortSignal;
}

/** The context that `authorize` receives with the decision. */
export interface AuthorizeContext extends DecisionHookContext {
  readonly runId: string;
  /** The name of the agent. */
  readonly agent: string;
}

/** The verified name of the approver, recorded with the decision; or the reason of a refusal: the call goes on waiting, and the sender reads the reason. */
export type AuthorizeAnswer = { readonly as: string } | { readonly refuse: string };

/**
 * Called in an activity with each decision that was sent, before it is applied; not for decisions by a deadline or
 * remembered ones. May be called again for the same decision. If it throws, the decision is refused with the message.
 */
export type AuthorizeDecision = (decision: DecisionToAuthorize, context: AuthorizeContext) => AuthorizeAnswer | Promise<AuthorizeAnswer>;

/** A pending approval, as `notify` receives it. */
export interface WaitingNotice {
  /** The id of this notice, the same on every call about it: pass it to every service that must not notify twice. */
  readonly id: string;
  readonly runId: string;
  readonly agentName: string;
  /** For whom and for what the run acts. The texts are those of users and models: escape them where they are shown. */
  readonly about: Readonly<RunSubject>;
  readonly callId: string;
  /** `raise_limits` for a limit. */
  readonly toolName: string;
  /** The kind: a call of a tool, a question to a person, or a limit that the run has reached. */
  readonly kind: PendingApproval['kind'];
  /** The arguments of the call; for a limit, the limits that an approval sets. */
  readonly arguments: JsonObject;
  /** The digest that a decision has to contain, with the call id. */
  readonly digest: string;
  /** The time at which it is decided automatically. ISO 8601. */
  readonly deadline?: string;
  /** The outcome at that time. */
  readonly onDeadline?: DeadlineAction;
  readonly reason?: string;
}

/** Called in an activity when an approval becomes pending: at least once, with a stable id. If it throws, it is retried. */
export type NotifyWaiting = (waiting: WaitingNotice, context: DecisionHookContext) => Promise<void> | void;
