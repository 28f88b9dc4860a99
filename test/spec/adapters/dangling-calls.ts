import { type ContentItem, isToolCall, type Message, type Role, type ToolResult } from '../../../src/core/domain/content/content.ts';
import { patchDangling } from '../../../src/core/domain/record/dangling.ts';
import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import type { ConversationEvent } from '../../../src/core/domain/model/model.ts';
import { parseToolCall } from '../../../src/model/parse-tool-call.ts';
import type { SuiteAdapter } from './adapter.ts';
import { list, object, text } from './fields.ts';

/** Suite `nous.patch_dangling_tool_calls`: results for calls that nobody has answered. */
export const danglingCallsSuite: SuiteAdapter = {
  operations: {
    'context.patch_dangling': (input) => patch(input, 1),
    'context.patch_twice': (input) => patch(input, 2),
  },
  notBuilt: {},
};

function patch(input: JsonValue, times: number): JsonObject {
  const given = list(object(input)['messages']).map((message) => toEvent(object(message)));
  let patched = given;
  for (let count = 0; count < times; count += 1) patched = patchDangling(patched);
  return { messages: patched.flatMap(toMessages), unchanged: JSON.stringify(patched) === JSON.stringify(given) };
}

/** A message of the case as the event that would hold it. */
function toEvent({ role, content, tool_calls, tool_call_id, name }: JsonObject): ConversationEvent {
  const author = text(role);
  if (isTool(author)) {
    const values = content === undefined || content === null ? [] : [content];
    return {
      author,
      content: [{ type: 'tool_result', toolCallId: text(tool_call_id), name: text(name), status: 'success', content: values }],
    };
  }
  const said: ContentItem[] = typeof content === 'string' ? [{ type: 'message', role: author as Role, content }] : [];
  return { author, content: [...said, ...list(tool_calls).map(toCall)] };
}

/** A call that has no id keeps none. */
function toCall(call: JsonValue): ContentItem {
  const { toolCallId, name, arguments: args } = parseToolCall(call, { uuid: () => '' });
  return { type: 'tool_call', toolCallId, name, arguments: args };
}

/** An event as messages of the case: each result is one of its own. */
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
