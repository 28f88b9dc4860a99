import type { ToolCall } from '../domain/content.ts';
import { canonicalJson, type JsonObject } from '../domain/json.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { editNote } from '../domain/approvals.ts';
import type { Capability } from '../kernel/capability.ts';
import type { ToolResultOutcome } from '../kernel/ports.ts';
import type { RunState } from '../kernel/run-state.ts';
import { asRewritten } from '../kernel/tool-calls.ts';

// Capability: the model reads the arguments that an approver chose. Its own call stays as it wrote it, since a provider may have signed it.

/** Returns the arguments that a call ran with, if its approver changed those that the model wrote. */
export function editOf(
  { approvals }: Pick<RunState, 'approvals'>,
  response: RecordedResponse,
  call: ToolCall,
  { notRun }: Pick<ToolResultOutcome, 'notRun'>,
): JsonObject | undefined {
  const edited = approvals.approved.find(({ callId }) => callId === call.toolCallId)?.arguments;
  if (edited === undefined || notRun !== undefined) return undefined;
  const known = [call, asRewritten(response, call)].map((one) => canonicalJson(one.arguments));
  return known.includes(canonicalJson(edited)) ? undefined : edited;
}

function withEdit(state: RunState, response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): ToolResultOutcome {
  const edited = editOf(state, response, call, result);
  if (edited === undefined) return result;
  // The result in the worker's cache lacks that text.
  const { resultId: _, ...rest } = result;
  return { ...rest, content: [...result.content, editNote(edited)] };
}

export const editedArguments: Capability = { name: 'editedArguments', resultAsRead: withEdit };
