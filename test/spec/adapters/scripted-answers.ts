import type { JsonObject, JsonValue } from '../../../src/core/domain/json.ts';
import type { ModelResponse, RawToolCall } from '../../../src/core/domain/model.ts';
import { failWith, malformed, type ScriptEntry } from '../../../src/testing/index.ts';
import { CaseProblem, list, object, only, said, text } from './fields.ts';
import { toOurUsage } from './result-notation.ts';

/** Translates an entry of `replies`: content items, or an error. */
export function toReply(reply: JsonValue): ScriptEntry {
  if (!Array.isArray(reply)) return failWith('model_error', text(only('A reply', reply, ['error_message'])['error_message']));
  const texts: string[] = [];
  const calls: RawToolCall[] = [];
  for (const item of reply.map(object)) {
    if (item['type'] === 'message') texts.push(text(only('A message', item, ['type', 'role', 'content'])['content']));
    else if (item['type'] === 'tool_call') calls.push(toCallOfReply(item));
    else throw new CaseProblem(`A reply has an item of type ${JSON.stringify(item['type'])}, which the adapter does not know`);
  }
  return exactly({ content: texts.join('\n'), toolCalls: calls, usage: null, finishReason: calls.length > 0 ? 'tool_calls' : 'stop' });
}

function toCallOfReply(item: JsonObject): RawToolCall {
  const { tool_call_id: id, name, ...given } = only('A tool call', item, ['type', 'tool_call_id', 'name', ...ARGUMENTS]);
  return rawCall(id, name, argumentsOf(given));
}

const ANSWER = ['text', 'tool_calls', 'usage', 'finish_reason', 'error'];

/** Translates an entry of `model`: text, tool calls, usage and finish reason, or an error. */
export function toAnswer(entry: JsonValue): ScriptEntry {
  const { text: content, tool_calls, usage, finish_reason, error } = only('An entry of "model"', entry, ANSWER);
  if (error !== undefined) return failWith('model_error', said(error));
  const calls = list(tool_calls).map((call) => toRawCall(object(call)));
  return exactly({
    content: text(content),
    toolCalls: calls,
    usage: usage === undefined || usage === null ? null : toOurUsage(usage),
    finishReason: text(finish_reason, calls.length > 0 ? 'tool_calls' : 'stop'),
  });
}

/** `invalid_arguments` is the raw text of the model's arguments. */
const ARGUMENTS = ['arguments', 'invalid_arguments'];

function toRawCall(call: JsonObject): RawToolCall {
  const { id, name, function: nested, ...given } = only('A tool call', call, ['id', 'type', 'name', 'function', ...ARGUMENTS]);
  if (nested === undefined) return rawCall(id, name, argumentsOf(given));
  const inner = only('The function of a tool call', nested, ['name', ...ARGUMENTS]);
  return rawCall(id, inner['name'], argumentsOf(inner));
}

function argumentsOf({ arguments: args, invalid_arguments: raw }: JsonObject): JsonValue | undefined {
  if (raw === undefined) return args;
  if (args !== undefined) throw new CaseProblem('A tool call has both "arguments" and "invalid_arguments"');
  return text(raw);
}

/** Leaves out the fields that a case leaves out: the product has to handle it. */
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
