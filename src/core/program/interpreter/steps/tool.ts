// Programs: one attempt of a `tool` step.

import type { ToolSnapshot } from '../../../domain/agent/agent-snapshot.ts';
import type { ApprovalRequirement } from '../../../domain/approvals/approval.ts';
import { isJsonObject, type JsonObject, type JsonValue } from '../../../domain/json/json.ts';
import { resultText, unknownTool } from '../../../domain/content/tool-text.ts';
import { checkJson, problemsText } from '../../../json-schema/check-json-schema.ts';
import type { ToolInvocation, ToolOutcome } from '../../../loop/ports.ts';
import { countToolCall, noteError } from '../../../loop/state/run-state.ts';
import { applyChanges } from '../../../loop/tool-phase/apply-changes.ts';
import { startTool } from '../../../loop/tool-phase/start-tool.ts';
import type { StepDocument, ToolStepDocument } from '../../../domain/program/document.ts';
import { resolveValue } from '../../references/interpolate.ts';
import type { RecordedCall } from '../../../domain/program/program-state.ts';
import { decide } from '../decide.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordCall, recordResult } from '../record-call.ts';
import type { RunningStep } from '../record.ts';
import type { AttemptEnd } from '../ends.ts';
import { stepFailure } from '../step-failure.ts';
import { lookupAt } from '../values.ts';

/** Executes one tool call, after the decision of a person if the step or the tool requires one. */
export async function callTool(
  run: ProgramRun,
  running: RunningStep,
  step: StepDocument & { tool: ToolStepDocument },
): Promise<AttemptEnd> {
  const { state, ports, program } = run;
  const { name, arguments: template = {} } = step.tool;
  const args = resolveValue(template, lookupAt(program, running.address));
  if (!args.ok || !isJsonObject(args.value)) return failed(run, running, args.ok ? 'the arguments are no object' : args.problem);
  const tool = state.snapshot.tools.find((one) => one.name === name);
  if (tool === undefined) return failed(run, running, unknownTool(name));
  const problems = checkJson(tool.schema, args.value);
  if (problems.length > 0) return failed(run, running, `Invalid arguments for '${name}': ${problemsText(problems)}`);
  const call = running.state.progress?.call ?? recordCall(run, running, { name, arguments: args.value });
  const invocation = invocationOf(run, tool, call, args.value);
  const decided = await decision(run, running, step, invocation, call);
  if (decided.type !== 'approved') return decided;
  if (!(await run.mayStart('tool'))) return { type: 'stopped' };
  const edited = decided.arguments;
  const outcome = await startTool(
    state,
    ports,
    edited === undefined ? invocation : { ...invocation, call: { ...invocation.call, arguments: edited }, edited: true },
  );
  return conclude(run, running, { invocation, call, outcome, arguments: edited ?? args.value });
}

function invocationOf(
  { state }: ProgramRun,
  tool: ToolSnapshot,
  { callId, eventId, offset }: RecordedCall,
  args: JsonObject,
): ToolInvocation {
  const call = { type: 'tool_call' as const, toolCallId: callId, name: tool.name, arguments: args };
  return { step: state.context.currentStep + 1, call, tool, offset, index: 0, eventId };
}

type Decided = { type: 'approved'; arguments?: JsonObject } | AttemptEnd;

/** Waits for the decision about the call, if it needs one. */
async function decision(
  run: ProgramRun,
  running: RunningStep,
  step: StepDocument,
  invocation: ToolInvocation,
  call: RecordedCall,
): Promise<Decided> {
  const { progress } = running.state;
  if (progress?.approved !== undefined) return { type: 'approved', ...progress.approved };
  const { tool } = invocation;
  const requirement = await requirementOf(run, invocation);
  if (step.approval === undefined && requirement === undefined) return { type: 'approved' };
  const made = await decide(run, {
    kind: tool.answer === undefined ? 'tool' : 'question',
    call,
    toolName: tool.name,
    deadline: step.approval ?? true,
    ...(requirement === undefined ? {} : { requirement: { ...tool.approval, ...requirement } }),
  });
  if (made === undefined) return { type: 'stopped' };
  if (made.type === 'respond') {
    const output = made.content ?? null;
    recordResult(run, running, call, { name: tool.name, status: 'success', content: [output] });
    return { type: 'done', output, id: run.state.window.lastEventId };
  }
  if (made.type === 'reject') {
    const reason = made.reason === undefined ? '' : ` Reason: ${made.reason}`;
    const message = `User denied the tool execution.${reason}`;
    recordResult(run, running, call, { name: tool.name, status: 'error', content: [message] });
    return { type: 'failed', error: stepFailure(running, 'step_rejected', message), id: run.state.window.lastEventId, isFinal: true };
  }
  const approved = made.arguments === undefined ? {} : { arguments: made.arguments };
  running.state.progress = { ...running.state.progress, approved };
  return { type: 'approved', ...approved };
}

async function requirementOf(run: ProgramRun, invocation: ToolInvocation): Promise<ApprovalRequirement | undefined> {
  const { tool, eventId } = invocation;
  if (tool.answer !== undefined || tool.approval?.when === 'always') return { digest: `${eventId}/0` };
  return tool.approval === undefined ? undefined : run.ports.askTerms(invocation);
}

interface Ended {
  invocation: ToolInvocation;
  call: RecordedCall;
  outcome: ToolOutcome;
  arguments: JsonObject;
}

/** Records the result. An error result is a failed attempt. */
function conclude(run: ProgramRun, running: RunningStep, { invocation, call, outcome: ended, arguments: args }: Ended): AttemptEnd {
  const { state, ports } = run;
  const { tool } = invocation;
  const outcome = applyChanges(state, { type: 'execute', invocation }, ended);
  if (outcome.type !== 'result') {
    recordResult(run, running, call, { name: tool.name, status: 'error', content: ['The call was running when the run was cancelled'] });
    return { type: 'stopped' };
  }
  const { status, content, durationMs } = outcome;
  const isError = status === 'error';
  const result = resultText(content);
  const timestamp = new Date(ports.now()).toISOString();
  countToolCall(state, { toolName: tool.name, callId: call.callId, arguments: args, result, isError, durationMs, timestamp });
  recordResult(run, running, call, { name: tool.name, status, content });
  const id = outcome.resultId ?? state.window.lastEventId;
  if (!isError) return { type: 'done', output: outputOf(content), id };
  noteError(state, result);
  return {
    type: 'failed',
    error: stepFailure(running, 'tool_failed', `Tool '${tool.name}' failed: ${result}`, result),
    id: state.window.lastEventId,
  };
}

/** Returns the output of a tool: its value, or the list of its values if it gave several. */
function outputOf(content: readonly JsonValue[]): JsonValue {
  return content.length === 1 ? (content[0] ?? null) : [...content];
}

function failed(run: ProgramRun, running: RunningStep, problem: string): AttemptEnd {
  const error = stepFailure(running, 'tool_failed', `Tool call of step '${running.address.step}' could not be made: ${problem}`, problem);
  noteError(run.state, error.message);
  return { type: 'failed', error, id: run.ports.uuid() };
}
