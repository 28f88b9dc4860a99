import type { JsonObject, JsonValue } from '../../../src/core/domain/json/json.ts';
import type { ModelResponse, RawToolCall } from '../../../src/core/domain/model/model.ts';
import { failWith, malformed, type ScriptEntry } from '../../../src/testing/index.ts';
import { list, object, text } from './fields.ts';
import { toOurUsage } from './result-notation.ts';

/** An entry of `replies`: content items, or an error. The model layer of the book puts its own words before the error. */
export function toReply(reply: JsonValue): ScriptEntry {
  if (!Array.isArray(reply)) return failWith('model_error', `LLM request failed: ${text(object(reply)['error_message'])}`);
  const items = reply.map(object);
  const texts = items.filter(({ type }) => type === 'message').map(({ content }) => text(content));
  const calls = items
    .filter(({ type }) => type === 'tool_call')
    .map(({ tool_call_id: id, name, arguments: args }) => rawCall(id, name, args));
  return exactly({ content: texts.join('\n'), toolCalls: calls, usage: null, finishReason: calls.length > 0 ? 'tool_calls' : 'stop' });
}

/** An entry of `model`: text, tool calls, usage and finish reason, or an error. */
export function toAnswer(entry: JsonValue): ScriptEntry {
  const { text: said, tool_calls, usage, finish_reason, error } = object(entry);
  if (error !== undefined) return failWith('model_error', text(error, JSON.stringify(error)));
  const calls = list(tool_calls).map((call) => toRawCall(object(call)));
  return exactly({
    content: text(said),
    toolCalls: calls,
    usage: usage === undefined || usage === null ? null : toOurUsage(usage),
    finishReason: text(finish_reason, calls.length > 0 ? 'tool_calls' : 'stop'),
  });
}

function toRawCall({ id, name, arguments: args, function: nested }: JsonObject): RawToolCall {
  if (nested === undefined) return rawCall(id, name, args);
  const inner = object(nested);
  return rawCall(id, inner['name'], inner['arguments']);
}

/** What a case leaves out stays out: the code under test has to cope with it. */
function rawCall(id: JsonValue | undefined, name: JsonValue | undefined, args: JsonValue | undefined): RawToolCall {
  return {
    ...(id === undefined ? {} : { id }),
    ...(name === undefined ? {} : { name }),
    ...(args === undefined ? {} : { arguments: args }),
  };
}

function exactly(response: ModelResponse): ScriptEntry {
  return malformed(response);
}
