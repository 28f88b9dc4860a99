import type { ApprovalDeadline, ApprovalRequirement, DeadlineAction } from '../../core/domain/approvals/approval.ts';
import { type Duration, milliseconds } from '../../core/domain/run/duration.ts';
import { UsageError } from '../../core/domain/errors/error.ts';
import type { JsonObject } from '../../core/domain/json/json.ts';
import { requireKnown } from './option-checks.ts';
import type { Resources } from '../run-context.ts';

/** How long a call waits for a decision, and what happens then. */
export interface ApprovalDeadlineOptions {
  /** From the moment in which the call begins to wait. Default: what the agent says, else for as long as it takes. */
  deadline?: Duration;
  /** What becomes of a call that nobody has decided by then. Default: what the agent says, else `reject`. */
  onDeadline?: DeadlineAction;
}

/** Says that a call needs a decision: why, for whoever decides, and by when. */
export interface ApprovalNeed extends ApprovalDeadlineOptions {
  reason?: string;
}

/** What an approval predicate says of a call: whether it needs a decision, or that it does, with the terms. */
export type ApprovalAnswer = boolean | ApprovalNeed;

/** What an approval predicate sees beside the arguments of the call. */
export interface ApprovalContext<Deps = JsonObject, Needed = Resources> {
  /** The run's JSON data (user id, session, preferences). Read-only. */
  readonly deps: Readonly<Deps>;
  readonly resources: Needed;
  /** The run's state as the model's response found it. */
  readonly state: Readonly<JsonObject>;
  /** The name of the agent. */
  readonly agent: string;
  readonly runId: string;
  readonly callId: string;
  /** Aborted when the run is cancelled or the worker shuts down. */
  readonly signal: AbortSignal;
}

/** Says of one call whether it needs a decision. Called in an activity; what it says is recorded, and never asked again. */
export type ApprovalPredicate<Args = never, Deps = never, Needed = Resources> = (
  args: Args,
  context: ApprovalContext<Deps, Needed>,
) => ApprovalAnswer | Promise<ApprovalAnswer>;

/** When the calls of a tool wait for a decision, and for how long. */
export interface ApprovalRule<Args, Deps, Needed = Resources> extends ApprovalDeadlineOptions {
  /** Default `always`. */
  when?: 'always' | ApprovalPredicate<Args, Deps, Needed>;
}

/** What a tool says about approvals. */
export type ApprovalOption<Args, Deps, Needed = Resources> =
  | 'always'
  | 'never'
  | ApprovalPredicate<Args, Deps, Needed>
  | ApprovalRule<Args, Deps, Needed>;

/** When the calls of a tool wait for a decision, checked. */
export interface ToolApproval<Args = never, Deps = never, Needed = Resources> extends ApprovalDeadline {
  readonly when: 'always' | ApprovalPredicate<Args, Deps, Needed>;
}

/** The approval of a tool; undefined where its calls never wait. Throws a UsageError that names the option for what could not work. */
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

/** The deadline that an agent gives what waits for a decision; undefined where it gives none. */
export function agentApprovals(owner: string, approvals: ApprovalDeadlineOptions | undefined): ApprovalDeadline | undefined {
  if (approvals === undefined) return undefined;
  requireKnown(`${owner}: "approvals"`, approvals, ['deadline', 'onDeadline']);
  const checked = approvalDeadline(`${owner}: "approvals`, approvals);
  return Object.keys(checked).length === 0 ? undefined : checked;
}

/** The terms of a call as a predicate gave them; undefined where the call needs no decision. Throws a UsageError for what is no answer. */
export function askedTerms(owner: string, answer: unknown): Omit<ApprovalRequirement, 'digest'> | undefined {
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

/** `option` is what comes before the names of both, quotation mark included. */
function approvalDeadline(option: string, { deadline, onDeadline }: ApprovalDeadlineOptions): ApprovalDeadline {
  if (onDeadline !== undefined && onDeadline !== 'approve' && onDeadline !== 'reject') {
    throw new UsageError(`${option}.onDeadline" is ${JSON.stringify(onDeadline)}: write "approve" or "reject"`);
  }
  return {
    ...(deadline === undefined ? {} : { deadlineMs: milliseconds(deadline, `${option}.deadline"`) }),
    ...(onDeadline === undefined ? {} : { onDeadline }),
  };
}
