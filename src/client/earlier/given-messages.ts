import type { ContentItem, ContentPart, SpilledContent, ToolCall, ToolResult } from '../../core/domain/content/content.ts';
import { isJsonObject, type JsonValue } from '../../core/domain/json/json.ts';
import type { SavedContext, SavedMessage } from '../../core/saved/saved-context.ts';
import { parseToolCall } from '../../model/parse-tool-call.ts';

/** The conversation of a document in the form in which a start takes it, and a notice for each message that is left out. */
export interface GivenMessages {
  messages: ContentItem[];
  notices: string[];
}

/** A call whose result has not been found yet, and the results that stand after its message. */
interface OpenCall {
  call: ToolCall;
  results: ToolResult[];
}

/**
 * Returns the conversation of a saved context. The instructions at its beginning are left out, because the agent of a run has
 * its own. A result is put after the message that asked for it, wherever it stands; one that no message has asked for is left out,
 * with a notice. A call with the id of an earlier one gets another id, and so does its result.
 */
export function givenMessages({ messages, system_prompt }: Pick<SavedContext, 'messages' | 'system_prompt'>): GivenMessages {
  const groups: ContentItem[][] = [];
  const open = new Map<string, OpenCall>();
  const ids = new Set<string>();
  const notices: string[] = [];
  for (const [index, message] of messages.entries()) {
    if (index === 0 && message.role === 'system' && message.content === system_prompt) continue;
    if (message.role === 'tool') {
      const callId = message.tool_call_id ?? '';
      const asked = open.get(callId);
      open.delete(callId);
      if (asked === undefined) notices.push(`messages[${index}] is left out: no call "${callId}" without a result stands before it`);
      else asked.results.push(toResult(message, asked.call));
      continue;
    }
    const results: ToolResult[] = [];
    const calls = message.role === 'assistant' ? message.tool_calls.map((one) => toCall(one, ids)) : [];
    for (const { givenId, call } of calls) open.set(givenId, { call, results });
    groups.push([...toMessage(message), ...calls.map(({ call }) => call)], results);
  }
  return { messages: groups.flat(), notices };
}

/** Returns a call under an id that no other call has, with the id that its result names. */
function toCall(saved: JsonValue, ids: Set<string>): { givenId: string; call: ToolCall } {
  const { toolCallId, name, arguments: args } = parseToolCall(saved);
  let id = toolCallId;
  for (let count = 2; ids.has(id); count += 1) id = `${toolCallId}_${count}`;
  ids.add(id);
  return { givenId: toolCallId, call: { type: 'tool_call', toolCallId: id, name, arguments: args } };
}

/** An assistant that only called tools, or said nothing, has no message. */
function toMessage({ role, content }: SavedMessage): ContentItem[] {
  if (role === 'tool' || content === null || (role === 'assistant' && content.length === 0)) return [];
  // Parts are checked with the input of the run.
  return [{ type: 'message', role, content: content as string | ContentPart[] }];
}

function toResult({ content, name, metadata }: SavedMessage, call: ToolCall): ToolResult {
  const { is_error, spilled } = metadata;
  return {
    type: 'tool_result',
    toolCallId: call.toolCallId,
    name: name === null || name === '' ? call.name : name,
    status: is_error === true ? 'error' : 'success',
    content: Array.isArray(content) ? content : [content ?? ''],
    ...(isSpilledContent(spilled) ? { spilled } : {}),
  };
}

function isSpilledContent(value: unknown): value is SpilledContent {
  if (!isJsonObject(value)) return false;
  const { store, claim, bytes, sha256 } = value;
  return typeof store === 'string' && isJsonObject(claim) && typeof bytes === 'number' && typeof sha256 === 'string';
}
