// Programs: the decision about a tool call.

import type { JsonObject } from '../../../domain/json/json.ts';
import type { StepDocument, ToolStepDocument } from '../../../domain/program/document.ts';
import type { RecordedCall } from '../../../domain/program/program-state.ts';
import type { ToolInvocation } from '../../../loop/ports.ts';
import { countToolCall } from '../../../loop/state/run-state.ts';
import { decide, type Question } from '../decide.ts';
import type { AttemptEnd } from '../ends.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordResult } from '../record-call.ts';
import type { RunningStep } from '../record.ts';
import { stepFailure } from '../step-failure.ts';

/** One call of a tool step. */
export interface StepInvocation {
  step: StepDocument & { tool: ToolStepDocument };
  invocation: ToolInvocation;
  call: RecordedCall;
}

/** The outcome of the decision: the arguments of the call, or the end of the attempt without a call. */
export type Decided = { type: 'approved'; arguments?: JsonObject } | AttemptEnd;

/** Waits for the decision about a call, if the step or the tool requires one. */
export async function decideOnCall(run: ProgramRun, running: RunningStep, { step, invocation, call }: StepInvocation): Promise<Decided> {
  const { progress } = running.state;
  if (progress?.approved !== undefined) return { type: 'approved', ...progress.approved };
  const { tool } = invocation;
  const requirement = await requirementOf(run, invocation);
  if (step.approval === undefined && requirement === undefined) return { type: 'approved' };
  const decision = await decide(run, {
    kind: tool.answer === undefined ? 'tool' : 'question',
    call,
    toolName: tool.name,
    arguments: invocation.call.arguments,
    deadline: step.approval ?? true,
    ...(requirement === undefined ? {} : { requirement: { ...tool.approval, ...requirement } }),
  });
  if (decision === undefined) return { type: 'stopped' };
  if (decision.type === 'respond') {
    const output = decision.content ?? null;
    countToolCall(run.state, { toolName: tool.name, ...(tool.answer === undefined ? { notRun: 'answered' as const } : {}) });
    recordResult(run, running, call, { name: tool.name, status: 'success', content: [output] });
    return { type: 'done', output, id: run.state.window.lastEventId };
  }
  if (decision.type === 'reject') {
    const reason = decision.reason === undefined ? '' : ` Reason: ${decision.reason}`;
    const message = `User denied the tool execution.${reason}`;
    const error = stepFailure(running, 'step_rejected', message);
    countToolCall(run.state, { toolName: tool.name, notRun: 'refused' });
    recordResult(run, running, call, { name: tool.name, status: 'error', content: [message], error });
    return { type: 'failed', error, id: run.state.window.lastEventId, isFinal: true };
  }
  const approved = decision.arguments === undefined ? {} : { arguments: decision.arguments };
  // The activity of the call queries arguments that are too large for its input.
  run.state.approvals.approved.push({ callId: call.callId, ...approved });
  running.state.progress = { ...running.state.progress, approved };
  return { type: 'approved', ...approved };
}

async function requirementOf(run: ProgramRun, invocation: ToolInvocation): Promise<Question['requirement']> {
  const { tool } = invocation;
  if (tool.answer !== undefined || tool.approval?.when === 'always') return {};
  const terms = tool.approval === undefined ? undefined : await run.ports.askTerms(invocation);
  if (terms === undefined) return undefined;
  const { digest: _, ...requirement } = terms;
  return requirement;
}
