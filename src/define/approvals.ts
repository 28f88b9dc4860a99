import type { ApprovalDeadline, ApprovalRequirement, DeadlineAction, Decision, PendingApproval } from '../core/domain/approvals.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined, type JsonObject, type JsonValue } from '../core/domain/json.ts';
import type { RunResult } from '../core/domain/result.ts';
import type { Principal, RunSubject, TerminalStatus } from '../core/domain/run.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import type { Resources } from './context.ts';
import { requireKnown } from './option-checks.ts';

/** How long a call waits for a decision, and the outcome at the deadline. */
export interface ApprovalDeadlineOptions {
  /** The time from when the call begins to wait. Default: the agent's, else unlimited. */
  deadline?: Duration;
  /** The outcome of a call without a decision by then. Default: the agent's, else `reject`. */
  onDeadline?: DeadlineAction;
}

/** Requires a decision, with an optional reason and deadline. */
export interface ApprovalNeed extends ApprovalDeadlineOptions {
  /** Why the call waits, shown to the approver. */
  reason?: string;
}

/** The answer of an approval predicate: true or false, or true with a reason and a deadline. */
export type ApprovalAnswer = boolean | ApprovalNeed;

/** The context that an approval predicate receives with the arguments of the call. */
export interface ApprovalContext<Deps = JsonObject, Needed = Resources> {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<Deps>;
  /** The identity on whose behalf the run acts: empty if it was started without a principal. Read-only. */
  readonly principal: Readonly<Principal>;
  /** The resources of the worker. */
  readonly resources: Needed;
  /** The run's state at the time of the model's response. */
  readonly state: Readonly<JsonObject>;
  /** The name of the agent. */
  readonly agent: string;
  /** The id of the run. */
  readonly runId: string;
  /** The id of the call. */
  readonly callId: string;
  /** Aborted when the run is cancelled or the worker shuts down. */
  readonly signal: AbortSignal;
}

/**
 * Decides whether a call needs approval. Called in an activity, and its answer is recorded: it is called again for the same call only if
 * an earlier call of the response changes the deps.
 */
export type ApprovalPredicate<Args = never, Deps = never, Needed = Resources> = (
  args: Args,
  context: ApprovalContext<Deps, Needed>,
) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** The calls of a tool that wait for a decision, and the deadline. */
export interface ApprovalRule<Args, Deps, Needed = Resources> extends ApprovalDeadlineOptions {
  /** Default `always`. */
  when?: 'always' | ApprovalPredicate<Args, Deps, Needed>;
}

/** The option `approval` of a tool. */
export type ApprovalOption<Args, Deps, Needed = Resources> =
  | 'always'
  | 'never'
  | ApprovalPredicate<Args, Deps, Needed>
  | ApprovalRule<Args, Deps, Needed>;

/** The checked option `approval` of a tool whose calls may wait for a decision. */
export interface ToolApproval<Args = never, Deps = never, Needed = Resources> extends ApprovalDeadline {
  /** The calls that wait: all, or those for which the function returns so. */
  readonly when: 'always' | ApprovalPredicate<Args, Deps, Needed>;
}

/** Returns the checked option; undefined if the calls of the tool never wait. Throws a UsageError that names an option that cannot work. */
export function toolApproval<Args, Deps, Needed>(
  owner: string,
  approval: ApprovalOption<Args, Deps, Needed> | undefined,
): ToolApproval<Args, Deps, Needed> | undefined {
  if (approval === undefined || approval === 'never') return undefined;
  if (approval === 'always' || typeof approval === 'function') return { when: approval };
  if (typeof approval !== 'object' || approval === null) {
    throw new UsageError(
      `${owner}: "approval" is ${JSON.stringify(approval)}: write "always", "never", a function, or {when, deadline, onDeadline}`,
    );
  }
  requireKnown(`${owner}: "approval"`, approval, { when: true, deadline: true, onDeadline: true });
  const { when = 'always' } = approval;
  if (when !== 'always' && typeof when !== 'function') {
    throw new UsageError(`${owner}: "approval.when" is ${JSON.stringify(when)}: write "always" or a function, or leave "approval" out`);
  }
  return { when, ...approvalDeadline(`${owner}: "approval`, approval) };
}

/** Returns the default deadline that an agent sets for approvals; undefined if it sets none. */
export function agentApprovals(owner: string, approvals: ApprovalDeadlineOptions | undefined): ApprovalDeadline | undefined {
  if (approvals === undefined) return undefined;
  requireKnown(`${owner}: "approvals"`, approvals, { deadline: true, onDeadline: true });
  const checked = approvalDeadline(`${owner}: "approvals`, approvals);
  return Object.keys(checked).length === 0 ? undefined : checked;
}

/** Returns the requirement from the answer of a predicate; undefined if the call needs no decision. Throws a UsageError for an invalid answer. */
export function requirementFrom(owner: string, answer: unknown): Omit<ApprovalRequirement, 'digest'> | undefined {
  if (typeof answer === 'boolean') return answer ? {} : undefined;
  const what = `${owner}: what "approval" returned`;
  if (!isNeed(answer)) throw new UsageError(`${what} is ${JSON.stringify(answer)}: return true, false, or {reason, deadline, onDeadline}`);
  requireKnown(what, answer, { reason: true, deadline: true, onDeadline: true });
  const { reason } = answer;
  if (reason !== undefined && typeof reason !== 'string')
    throw new UsageError(`${what} has the reason ${JSON.stringify(reason)}: write a text`);
  return { ...defined({ reason }), ...approvalDeadline(`${owner}: "approval()`, answer) };
}

function isNeed(answer: unknown): answer is ApprovalNeed {
  return typeof answer === 'object' && answer !== null && !Array.isArray(answer);
}

/** `option` is the text before the names of both options, quotation mark included. */
function approvalDeadline(option: string, { deadline, onDeadline }: ApprovalDeadlineOptions): ApprovalDeadline {
  if (onDeadline !== undefined && onDeadline !== 'approve' && onDeadline !== 'reject') {
    throw new UsageError(`${option}.onDeadline" is ${JSON.stringify(onDeadline)}: write "approve" or "reject"`);
  }
  return {
    ...(deadline === undefined ? {} : { deadlineMs: milliseconds(deadline, `${option}.deadline"`) }),
    ...defined({ onDeadline }),
  };
}

/** A decision that was sent, before it is applied. */
export interface DecisionToAuthorize {
  /** The sender's id of the decision, the same if the decision is sent again. */
  readonly id: string;
  /** The type: approve the call, reject it, or answer it in place of the tool. */
  readonly type: Decision['type'];
  /** What it is about: a tool call, a question, a limit (`toolName` is `raise_limits`), or the outcome of a call whose answer was lost. */
  readonly kind: PendingApproval['kind'];
  /** The call that is to be decided. */
  readonly callId: string;
  /** `raise_limits` for a limit. */
  readonly toolName: string;
  /** The arguments of the call, as the model set them. Empty for a limit. */
  readonly arguments: JsonObject;
  /** The arguments that replace the arguments of an approved call; for a limit, the limits to set. */
  readonly editedArguments?: JsonObject;
  /** The answer of a response. */
  readonly content?: JsonValue;
  /** The reason given with the decision. */
  readonly reason?: string;
  /** Set if the decision also applies to later calls of the tool, or of the tool with equal arguments. */
  readonly remember?: Decision['remember'];
  /** The person or service that claims to have decided: not verified. */
  readonly by: string | null;
  /** How it was sent. */
  readonly source: Decision['source'];
}

/** The context that `authorize`, `notify` and `notifyEnded` receive as their second argument. */
export interface WorkerFunctionContext {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<JsonObject>;
  /** The resources of the worker. */
  readonly resources: Resources;
  /** Aborted when the run is cancelled, the time is up, or the worker shuts down. */
  readonly signal: AbortSignal;
}

/** The context that `authorize` receives with the decision. */
export interface AuthorizeContext extends WorkerFunctionContext {
  /** The id of the run. */
  readonly runId: string;
  /** The name of the agent. */
  readonly agent: string;
}

/** The verified name of the approver, recorded with the decision. Or a refusal: the call keeps waiting, and the sender gets the reason. */
export type AuthorizeAnswer = { readonly as: string } | { readonly refuse: string };

/**
 * Called in an activity with each decision that was sent, before it is applied, but not for decisions by deadline or
 * remembered ones. May be called again for the same decision. If it throws, the decision is refused with the message.
 */
export type AuthorizeDecision = (decision: DecisionToAuthorize, context: AuthorizeContext) => AuthorizeAnswer | Promise<AuthorizeAnswer>;

/** A pending approval, as `notify` receives it. */
export interface WaitingNotice {
  /** The id of this notice, the same on every call: pass it to every service that must not notify twice. */
  readonly id: string;
  /** The run that waits. */
  readonly runId: string;
  /** The agent of the run. */
  readonly agentName: string;
  /** On whose behalf the run acts, and for what. The texts come from users and models: escape them where they are shown. */
  readonly about: Readonly<RunSubject>;
  /** The call that waits. */
  readonly callId: string;
  /** `raise_limits` for a limit. */
  readonly toolName: string;
  /** The kind: a tool call, a question to a person, or a limit that the run has reached. */
  readonly kind: PendingApproval['kind'];
  /** The arguments of the call; for a limit, the limits that an approval sets. */
  readonly arguments: JsonObject;
  /** The digest that a decision must contain, with the call id. */
  readonly digest: string;
  /** When it is decided automatically. ISO 8601. */
  readonly deadline?: string;
  /** The outcome at that time. */
  readonly onDeadline?: DeadlineAction;
  /** Why it waits. Absent if no reason was given. */
  readonly reason?: string;
}

/** Called in an activity when an approval becomes pending: at least once, with a stable id. If it throws, it is retried. */
export type NotifyWaiting = (waiting: WaitingNotice, context: WorkerFunctionContext) => Promise<void> | void;

/** The end of a run, as `notifyEnded` receives it. */
export interface EndedNotice {
  /** The id of this notice, the same on every call: pass it to every service that must not act twice. */
  readonly id: string;
  /** The ended run. */
  readonly runId: string;
  /** The agent of the run. */
  readonly agentName: string;
  /** How it ended. */
  readonly status: TerminalStatus;
  /** The result as `handle.result()` returns it, without its steps. */
  readonly result: RunResult<unknown>;
}

/** Called in an activity when a run has ended, before its workflow closes: at least once, with a stable id. If it throws, it is retried. */
export type NotifyEnded = (ended: EndedNotice, context: WorkerFunctionContext) => Promise<void> | void;
