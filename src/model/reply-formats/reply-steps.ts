import type { ConversationStep } from '../../core/domain/content/conversation/conversation-step.ts';
import { type ContentItem, type ContentPart, isToolCall, type ToolCall, type ToolResult } from '../../core/domain/content/content.ts';
import { outputText } from '../../core/domain/content/output-text.ts';
import type { JsonValue } from '../../core/domain/json/json.ts';
import type { ConversationEvent } from '../../core/domain/model/model.ts';

/** A step of a conversation, with what belongs to the provider's own form of it. */
export type ReplyStep = ConversationStep & {
  /** Opaque items of the provider that precede the answer. */
  providerItems?: JsonValue[];
  /** Images and other media that follow the observation. */
  media?: ContentPart[];
};

/** The way in which a format writes the answers that were recorded. */
export interface ReplyRendering {
  /** Writes a call with the text beside it and its result. Empty: the model does not see it again. */
  call(call: ToolCall, text: string, result: ToolResult | undefined): ReplyStep[];
  /** Writes an answer without a call. */
  answer(text: string): string;
}

/** Returns a conversation as steps of text alone: a call and its result become one step, whichever events they are in. */
export function replySteps(conversation: readonly ConversationEvent[], rendering: ReplyRendering): ReplyStep[] {
  const results = new Map(
    conversation.flatMap(({ content }) =>
      content.flatMap((item) => (item.type === 'tool_result' ? [[item.toolCallId, item] as const] : [])),
    ),
  );
  return conversation.flatMap(({ content, providerItems }) => {
    const steps = stepsOf(content, rendering, results);
    const index = steps.findIndex(({ type }) => type === 'action' || type === 'scratchpad');
    return providerItems === undefined ? steps : steps.map((step, at) => (at === index ? { ...step, providerItems } : step));
  });
}

function stepsOf(content: readonly ContentItem[], rendering: ReplyRendering, results: ReadonlyMap<string, ToolResult>): ReplyStep[] {
  const calls = content.filter(isToolCall);
  const steps: ReplyStep[] = [];
  let text = '';
  for (const item of content) {
    if (item.type !== 'message') continue;
    if (item.role === 'user') steps.push({ type: 'task', content: item.content });
    else if (item.role === 'system') steps.push({ type: 'system', text: outputText(item.content) });
    else if (calls.length === 0) steps.push({ type: 'action', reply: rendering.answer(outputText(item.content)) });
    else text = outputText(item.content);
  }
  // The text of an answer with several calls stands with the first of them.
  return [...steps, ...calls.flatMap((call, index) => rendering.call(call, index === 0 ? text : '', results.get(call.toolCallId)))];
}
