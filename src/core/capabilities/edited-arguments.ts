import type { ToolCall } from '../domain/content.ts';
import type { RecordedResponse } from '../domain/model.ts';
import { editNote, toldArguments, withNotes } from '../domain/notes.ts';
import { asRewritten } from '../domain/rewrites.ts';
import type { Capability } from '../kernel/capability.ts';
import type { ToolResultOutcome } from '../kernel/ports.ts';
import type { RunState } from '../kernel/run-state.ts';

// Capability: a note to the model about the arguments that an approver changed. Its own call stays as it wrote it, because its provider may
// have signed it.

function withEdit({ approvals }: RunState, response: RecordedResponse, call: ToolCall, result: ToolResultOutcome): ToolResultOutcome {
  const edited = approvals.approved.find(({ callId }) => callId === call.toolCallId)?.arguments;
  if (edited === undefined || result.notRun !== undefined) return result;
  const told = toldArguments({ written: call.arguments, shown: asRewritten(response, call).arguments, edited });
  return told === undefined ? result : withNotes(result, editNote(told));
}

export const editedArguments: Capability = { name: 'editedArguments', resultAsRead: withEdit };
