import { isJsonObject, isTooDeep, type JsonObject, MAX_JSON_DEPTH } from '../../../../core/domain/json.ts';
import type { ToolCall, ToolResult } from '../../../../core/domain/content.ts';
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
  let value: unknown;
  try {
    value = JSON.parse(text === '' ? '{}' : text);
  } catch {
    // As below.
  }
  if (!isJsonObject(value)) throw invalidValue(param, 'expected a JSON object as text');
  if (isTooDeep(value)) throw invalidValue(param, `nested deeper than ${MAX_JSON_DEPTH} levels`);
  return value;
}
