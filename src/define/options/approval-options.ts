import type { Principal } from '../../core/domain/run.ts';
import type { ApprovalDeadline, ApprovalRequirement, DeadlineAction } from '../../core/domain/approvals.ts';
import { type Duration, milliseconds } from '../../core/domain/time.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { JsonObject } from '../../core/domain/json.ts';
import { requireKnown } from './option-checks.ts';
import type { Resources } from '../context/run-context.ts';

/** The time that a call waits for a decision, and the outcome when it is over. */
export interface ApprovalDeadlineOptions {
  /** The time from the moment at which the call begins to wait. Default: the agent's, else unlimited. */
  deadline?: Duration;
  /** The outcome of a call without a decision by then. Default: the agent's, else `reject`. */
  onDeadline?: DeadlineAction;
}

/** The requirement of a decision: a reason for the approver, and a deadline. */
export interface ApprovalNeed extends ApprovalDeadlineOptions {
  reason?: string;
}

/** The answer of an approval predicate: true or false, or true with a reason and a deadline. */
export type ApprovalAnswer = boolean | ApprovalNeed;

/** The context that an approval predicate receives with the arguments of the call. */
export interface ApprovalContext<Deps = JsonObject, Needed = Resources> {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<Deps>;
  /** Whom the run acts for: empty if it was started without a principal. Read-only. */
  readonly principal: Readonly<Principal>;
  readonly resources: Needed;
  /** The run's state at the time of the model's response. */
  readonly state: Readonly<JsonObject>;
  /** The name of the agent. */
  readonly agent: string;
  readonly runId: string;
  readonly callId: string;
  /** Aborted when the run is cancelled or the worker shuts down. */
  readonly signal: AbortSignal;
}

/** Decides if a call needs a decision. Called in an activity; its answer is recorded, and it is not called again for the same call unless an earlier call of the response changes the deps. */
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
  requireKnown(`${owner}: "approval"`, approval, ['when', 'deadline', 'onDeadline']);
  const { when = 'always' } = approval;
  if (when !== 'always' && typeof when !== 'function') {
    throw new UsageError(`${owner}: "approval.when" is ${JSON.stringify(when)}: write "always" or a function, or leave "approval" out`);
  }
  return { when, ...approvalDeadline(`${owner}: "approval`, approval) };
}

/** Returns the default deadline that an agent sets for approvals; undefined if it sets none. */
export function agentApprovals(owner: string, approvals: ApprovalDeadlineOptions | undefined): ApprovalDeadline | undefined {
  if (approvals === undefined) return undefined;
  requireKnown(`${owner}: "approvals"`, approvals, ['deadline', 'onDeadline']);
  const checked = approvalDeadline(`${owner}: "approvals`, approvals);
  return Object.keys(checked).length === 0 ? undefined : checked;
}

/** Returns the requirement from the answer of a predicate; undefined if the call needs no decision. Throws a UsageError for an invalid answer. */
export function requirementFrom(owner: string, answer: unknown): Omit<ApprovalRequirement, 'digest'> | undefined {
  if (typeof answer === 'boolean') return answer ? {} : undefined;
  const what = `${owner}: what "approval" returned`;
  if (!isNeed(answer)) throw new UsageError(`${what} is ${JSON.stringify(answer)}: return true, false, or {reason, deadline, onDeadline}`);
  requireKnown(what, answer, ['reason', 'deadline', 'onDeadline']);
  const { reason } = answer;
  if (reason !== undefined && typeof reason !== 'string')
    throw new UsageError(`${what} has the reason ${JSON.stringify(reason)}: write a text`);
  return { ...(reason === undefined ? {} : { reason }), ...approvalDeadline(`${owner}: "approval()`, answer) };
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
    ...(onDeadline === undefined ? {} : { onDeadline }),
  };
}
