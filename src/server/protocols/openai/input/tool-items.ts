import { isJsonObject, type JsonObject } from '../../../../core/domain/json/json.ts';
import type { ToolCall, ToolResult } from '../../../../core/domain/content/content.ts';
import { invalidValue } from '../errors/openai-refusal.ts';

/** Returns a call of an earlier conversation. */
export function toolCall(id: string, name: string, text: string, param: string): ToolCall {
  return { type: 'tool_call', toolCallId: id, name, arguments: argumentsOf(text, param) };
}

/** Returns the result of a call of an earlier conversation. */
export function toolResult(
  call: Pick<ToolCall, 'toolCallId' | 'name'>,
  content: string,
  status: ToolResult['status'] = 'success',
): ToolResult {
  return { type: 'tool_result', toolCallId: call.toolCallId, name: call.name, status, content: [content] };
}

function argumentsOf(text: string, param: string): JsonObject {
  try {
    const value: unknown = JSON.parse(text === '' ? '{}' : text);
    if (isJsonObject(value)) return value;
  } catch {
    // As below.
  }
  throw invalidValue(param, 'expected a JSON object as text');
}
