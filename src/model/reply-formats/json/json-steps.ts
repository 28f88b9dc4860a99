import type { AgentSnapshot } from '../../../core/domain/agent/agent-snapshot.ts';
import type { ToolCall, ToolResult } from '../../../core/domain/content/content.ts';
import { shortened } from '../../../core/domain/content/text.ts';
import type { ConversationEvent } from '../../../core/domain/model/model.ts';
import { parseJsonText } from '../../parse-json-text.ts';
import { mediaOf, NO_OUTPUT, observationText } from '../observation.ts';
import { type ReplyRendering, type ReplyStep, replySteps } from '../reply-steps.ts';
import { unusableReason } from '../unusable-reply.ts';
import { isArgumentError } from './argument-error.ts';

/** Characters of a result that the model reads. */
const OBSERVATION_LENGTH = 500;

/** Returns a conversation as the model wrote and read it: each answer as a JSON object, each result as the text of a user. */
export function jsonSteps(snapshot: AgentSnapshot, conversation: readonly ConversationEvent[]): ReplyStep[] {
  const rendering: ReplyRendering = {
    call: (call, text, result) => unusableSteps(call, text, result) ?? [toolStep(call, text, result)],
    answer: (text) => JSON.stringify({ answer: snapshot.output === undefined ? text : valueOf(text) }),
  };
  return replySteps(conversation, rendering);
}

/** Returns the value of a structured answer, which is recorded as JSON; the text itself if it is none. */
function valueOf(text: string): unknown {
  const parsed = parseJsonText(text, false);
  return parsed.ok ? parsed.value : text;
}

function toolStep({ name, arguments: args }: ToolCall, text: string, result: ToolResult | undefined): ReplyStep {
  const reply = JSON.stringify({ ...(text === '' ? {} : { scratchpad: text }), tool: name, arguments: args });
  if (result === undefined) return { type: 'action', reply };
  const observed = observationText(result);
  if (result.status === 'error') return { type: 'action', reply, error: errorText(result, observed) };
  const observation = observed === '' ? NO_OUTPUT : shortened(observed, OBSERVATION_LENGTH);
  return { type: 'action', reply, observation, media: mediaOf(result) };
}

/** Returns the text about a call that failed. What is wrong with the arguments is not cut: the model needs all of it. */
function errorText(result: ToolResult, text: string): string {
  return isArgumentError(result) ? `ArgError: ${text}` : shortened(`ToolError: ${text}`, OBSERVATION_LENGTH);
}

/** Returns the steps of an answer that could not be used; undefined for any other call. An empty one is asked for again, unseen. */
function unusableSteps(call: ToolCall, text: string, result: ToolResult | undefined): ReplyStep[] | undefined {
  switch (unusableReason(call)) {
    case 'not_json':
      return [{ type: 'action', reply: text, error: result === undefined ? '' : observationText(result) }];
    case 'scratchpad':
      return [{ type: 'scratchpad', reply: JSON.stringify({ scratchpad: text }), note: text }];
    case 'empty':
      return [];
    case undefined:
      return undefined;
  }
}
