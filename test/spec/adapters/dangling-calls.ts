import { type ContentItem, isToolCall, type Message, type Role, type ToolResult } from '../../../src/core/domain/content.ts';
import { type ConversationEvent, patchDangling } from '../../../src/core/domain/model.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import { parseToolCall } from '../../../src/model/interpret-response.ts';
import { CaseProblem, list, only, type Operation, text } from './adapter.ts';

/** Suite `nous.patch_dangling_tool_calls`: results for calls without results. */
export const danglingCallOperations: Readonly<Record<string, Operation>> = {
  'context.patch_dangling': { input: ['messages'], expect: ['messages', 'unchanged'], perform: (input) => patch(input, 1) },
  'context.patch_twice': { input: ['messages'], expect: ['messages', 'unchanged'], perform: (input) => patch(input, 2) },
};

function patch({ messages }: JsonObject, times: number): JsonObject {
  const given = list(messages).map(toEvent);
  let patched = given;
  for (let count = 0; count < times; count += 1) patched = patchDangling(patched);
  return { messages: patched.flatMap(toMessages), unchanged: JSON.stringify(patched) === JSON.stringify(given) };
}

const MESSAGE = ['role', 'content', 'tool_calls', 'tool_call_id', 'name'];

/** A message of the case as the event that would hold it. */
export function toEvent(message: JsonValue): ConversationEvent {
  const { role, content, tool_calls, tool_call_id, name } = only('A message', message, MESSAGE);
  const author = text(role);
  if (isTool(author)) {
    const values = content === undefined || content === null ? [] : [content];
    return {
      author,
      content: [{ type: 'tool_result', toolCallId: text(tool_call_id), name: text(name), status: 'success', content: values }],
    };
  }
  const said: ContentItem[] =
    content === undefined || content === null ? [] : [{ type: 'message', role: roleOf(author), content: text(content) }];
  return { author, content: [...said, ...list(tool_calls).map(toCall)] };
}

const CALL = ['id', 'type', 'name', 'function', 'arguments'];

/** A call that has no id keeps none. */
function toCall(call: JsonValue): ContentItem {
  const { toolCallId, name, arguments: args } = parseToolCall(only('A tool call', call, CALL), { uuid: () => '' });
  return { type: 'tool_call', toolCallId, name, arguments: args };
}

/** An event as messages of the case: each result is a separate message. */
function toMessages({ author, content }: ConversationEvent): JsonObject[] {
  const results = content.filter((item) => item.type === 'tool_result');
  if (results.length > 0) return results.map((result) => toToolMessage(result, author));
  const said = content.find((item): item is Message => item.type === 'message');
  const calls = content.filter(isToolCall).map(({ toolCallId, name, arguments: args }) => ({
    ...(toolCallId === '' ? {} : { id: toolCallId }),
    name,
    arguments: args,
  }));
  return [
    {
      role: author,
      content: typeof said?.content === 'string' ? said.content : null,
      ...(calls.length === 0 ? {} : { tool_calls: calls }),
    },
  ];
}

function toToolMessage({ toolCallId, name, content: [value = null] }: ToolResult, author: string): JsonObject {
  return { role: isTool(author) ? author : 'tool', tool_call_id: toolCallId, content: value, ...(name === '' ? {} : { name }) };
}

function isTool(role: string): boolean {
  return role === 'tool' || role === 'tool_response';
}

/** The role of a message that is not a result. */
export function roleOf(role: string): Role {
  if (role === 'system' || role === 'user' || role === 'assistant') return role;
  throw new CaseProblem(`A message has a role that the adapter does not know: "${role}"`);
}
