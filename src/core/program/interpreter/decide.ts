// Programs: steps that wait for a person.

import { type ApprovalRequirement, callDigest, type Decision, type PendingApproval } from '../../domain/approvals.ts';
import type { JsonObject } from '../../domain/json.ts';
import { milliseconds } from '../../domain/time.ts';
import { deadlineOf } from '../../loop/state/approval-state.ts';
import type { StepDeadlineDocument } from '../../domain/program-document.ts';
import type { RecordedCall } from '../../domain/program-run.ts';
import type { ProgramRun } from './program-run.ts';

/** The thing that a person decides about. */
export interface Question {
  kind: 'tool' | 'question';
  call: RecordedCall;
  toolName: string;
  /** The arguments as the person is shown them. */
  arguments: JsonObject;
  deadline: true | StepDeadlineDocument;
  /** The requirement of the tool itself, if it is the tool that needs the decision. */
  requirement?: Omit<ApprovalRequirement, 'digest'>;
}

/** Waits for the decision about a call of a step. Undefined if the run stops first. */
export function decide(
  run: ProgramRun,
  { kind, call, toolName, arguments: args, deadline, requirement }: Question,
): Promise<Decision | undefined> {
  const { state, ports } = run;
  const now = ports.now();
  const { reason, ...ownDeadline } = requirement ?? {};
  // The author of an event of a step is the address of the step.
  const at = state.window.events.findLast(({ id }) => id === call.eventId)?.author;
  const waiting: PendingApproval = {
    kind,
    callId: call.callId,
    toolName,
    digest: callDigest(toolName, args),
    key: `${call.eventId}/0`,
    step: state.context.currentStep + 1,
    ...(at === undefined ? {} : { at }),
    requestedAt: now,
    ...deadlineOf({ ...state.snapshot.approvals, ...ownDeadline, ...plainDeadline(deadline) }, now),
    ...(reason === undefined ? {} : { reason }),
  };
  return run.decision(waiting);
}

function plainDeadline(deadline: true | StepDeadlineDocument): { deadlineMs?: number; onDeadline?: 'approve' | 'reject' } {
  if (deadline === true) return {};
  return {
    ...(deadline.deadline === undefined ? {} : { deadlineMs: milliseconds(deadline.deadline, 'the deadline of a decision') }),
    ...(deadline.onDeadline === undefined ? {} : { onDeadline: deadline.onDeadline }),
  };
}
