// Tool phase: calls before they are scheduled.

import { type ApprovalRequirement, callDigest } from '../../domain/approvals.ts';
import { isToolCall, type ToolCall } from '../../domain/content.ts';
import type { JsonValue } from '../../domain/json.ts';
import { refusalIn } from '../../domain/guardrails.ts';
import { FINAL_ANSWER, notExecutable, type NotRun, RUN_CODE, unknownTool, UNUSABLE_REPLY } from '../../domain/tool-calls.ts';
import type { RecordedResponse } from '../../domain/model.ts';
import { withoutTransfer } from '../handoffs/transfer-calls.ts';
import { asRewritten } from '../hooks/rewritten-arguments.ts';
import { pendingOf } from '../approvals/approvals.ts';
import type { ToolInvocation, ToolOutcome } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { interrupted, notRun, result } from './call-results.ts';
import { deniedText, permissionVerdict } from '../permissions/run-permissions.ts';

/** The response that asks for calls, and the run that executes them. */
export interface Acting {
  state: RunState;
  response: RecordedResponse;
  calls: ToolCall[];
  /** The offset of the event that holds the calls. */
  offset: number;
  /** True for the attempt after the step limit. */
  final: boolean;
  /** True if code makes the calls. */
  inCode?: boolean;
  /** True if the response ends the run: no other agent takes over. */
  isLast?: boolean;
}

/** A prepared call: one to execute, with the requirement of a decision if it needs one; or one whose result needs no execution. */
export type PreparedCall =
  /** `askedAgain`: true if its predicate was called a second time, with the current deps. */
  | { type: 'execute'; invocation: ToolInvocation; requirement?: ApprovalRequirement; askedAgain?: true }
  | { type: 'immediate'; outcome: ToolOutcome };

/** Prepares a call. A mistake of the model is not an exception: it becomes a result that the model reads. */
export function prepareCall({ state, response, offset, final, isLast = false }: Acting, call: ToolCall): PreparedCall {
  // The final attempt offers no tools: a call that the model makes all the same is not executed.
  if (final) return { type: 'immediate', outcome: interrupted() };
  const problem = problemOf(response, call);
  if (problem !== undefined) return { type: 'immediate', outcome: notRunBefore(reasonOf(state, response, call), problem) };
  if (isFinalAnswer(state, call)) return { type: 'immediate', outcome: result('success', finalOutput(response, call)) };
  const tool = state.snapshot.tools.find((one) => one.name === call.name);
  if (tool === undefined) return { type: 'immediate', outcome: notRunBefore('unknown', unknownTool(call.name)) };
  const effective = asRewritten(response, call);
  const { denied, asked } = permissionVerdict(state, tool, effective.arguments);
  if (denied !== undefined) return { type: 'immediate', outcome: notRunBefore('refused', deniedText(call.name, denied)) };
  const refused = tool.handoff ? withoutTransfer(state, { response, isLast }, call) : undefined;
  if (refused !== undefined) return { type: 'immediate', outcome: notRunBefore('not_started', refused) };
  if (tool.notExecutable) return { type: 'immediate', outcome: notRunBefore('not_started', notExecutable(call.name)) };
  const step = state.context.currentStep + 1;
  const invocation = {
    step,
    call: effective,
    tool,
    offset,
    index: response.content.indexOf(call),
    eventId: response.id,
    ...(effective === call ? {} : { edited: true as const }),
  };
  const requirement = requirementOf(state, response, invocation) ?? askedBy(asked, effective);
  return { type: 'execute', invocation, ...(requirement === undefined ? {} : { requirement }) };
}

/** The result of a call that is answered before it could start. It took no time. */
function notRunBefore(reason: NotRun, text: string): ToolOutcome {
  return { ...notRun(reason, text), durationMs: 0 };
}

/** Returns the reason why a call with a problem does not run: a hook or a guardrail refused it, there is no such tool, or it is invalid. */
function reasonOf({ snapshot }: RunState, { hooks = [], guardrails }: RecordedResponse, { toolCallId, name }: ToolCall): NotRun {
  if (hooks.some(({ callId, answer, denied }) => callId === toolCallId && (answer === 'deny' || denied))) return 'refused';
  if (refusalIn({ findings: guardrails?.findings.filter(({ callId }) => callId === toolCallId) ?? [] }) !== undefined) return 'refused';
  const isKnown = [FINAL_ANSWER, RUN_CODE, UNUSABLE_REPLY].includes(name) || snapshot.tools.some((tool) => tool.name === name);
  return isKnown ? 'invalid' : 'unknown';
}

/**
 * Returns the requirement of a decision. A call of a tool that always needs a decision needs one even if the response
 * recorded none. So does a call whose predicate was called again in the previous execution, and that has waited since then
 * or has been approved.
 */
function requirementOf(
  { approvals }: RunState,
  response: RecordedResponse,
  { call: { toolCallId }, eventId, index, tool }: ToolInvocation,
): ApprovalRequirement | undefined {
  if (response.approvals !== undefined && Object.hasOwn(response.approvals, toolCallId)) return response.approvals[toolCallId];
  const waiting = pendingOf(approvals, toolCallId);
  if (waiting?.kind === 'tool') return { digest: waiting.digest };
  const isApproved = approvals.approved.some(({ callId }) => callId === toolCallId);
  return isApproved || tool.approval?.when === 'always' ? { digest: `${eventId}/${index}` } : undefined;
}

/** Returns the requirement of a decision that the permissions ask for. */
function askedBy(asked: string | undefined, { name, arguments: args }: ToolCall): ApprovalRequirement | undefined {
  return asked === undefined ? undefined : { digest: callDigest(name, args), reason: asked };
}

/** True for the call that carries a structured answer. */
export function isFinalAnswer(state: RunState, call: ToolCall): boolean {
  return state.snapshot.output?.mode === 'final_answer' && call.name === FINAL_ANSWER;
}

/** Returns the reason why a call must not run. Call ids come from models: only own properties count. */
export function problemOf(response: RecordedResponse, call: ToolCall): string | undefined {
  const { problems } = response;
  return problems !== undefined && Object.hasOwn(problems, call.toolCallId) ? problems[call.toolCallId] : undefined;
}

/** Returns the output of a valid `final_answer` call. */
export function finalOutput(response: RecordedResponse, call: ToolCall): JsonValue {
  const first = response.content.filter(isToolCall).find((one) => one.name === FINAL_ANSWER && problemOf(response, one) === undefined);
  // The recorded output belongs to the first answer that fits.
  return call === first && response.output?.type === 'parsed' ? response.output.value : (call.arguments['output'] ?? null);
}
