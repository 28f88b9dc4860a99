import { isJsonObject } from '../core/domain/json.ts';
import type { ModelResponse, RawToolCall } from '../core/domain/model.ts';
import { endedByItself } from './finish-words.ts';
import { splitReasoning } from './split-reasoning.ts';
import { responseFields } from './response-fields.ts';

const OPEN = '<tool_call>';
const CLOSE = '</tool_call>';

/**
 * Returns a response whose whole text is calls of known tools, as servers without a parser for their model pass them
 * on, with these calls. `<tool_call>{"name": …, "arguments": {…}}</tool_call>` is the form that most open models are
 * trained on. If anything else is in the text, or anything is missing, it stays text.
 */
export function readCallsInText(response: ModelResponse, tools: readonly { name: string }[]): ModelResponse {
  const { content, toolCalls, finishReason, refusal } = responseFields(response);
  if (typeof content !== 'string' || (Array.isArray(toolCalls) && toolCalls.length > 0) || refusal) return response;
  if (!endedByItself(finishReason)) return response;
  const calls = callsIn(splitReasoning(content).text, new Set(tools.map(({ name }) => name)));
  return calls === undefined ? response : { ...response, content: '', toolCalls: calls, finishReason: 'tool_calls' };
}

function callsIn(text: string, tools: ReadonlySet<string>): RawToolCall[] | undefined {
  const calls: RawToolCall[] = [];
  let rest = text.trim();
  while (rest !== '') {
    const close = rest.startsWith(OPEN) ? rest.indexOf(CLOSE) : -1;
    const call = close < 0 ? undefined : callOf(rest.slice(OPEN.length, close), tools);
    if (call === undefined) return undefined;
    calls.push(call);
    rest = rest.slice(close + CLOSE.length).trimStart();
  }
  return calls.length === 0 ? undefined : calls;
}

function callOf(text: string, tools: ReadonlySet<string>): RawToolCall | undefined {
  try {
    const call: unknown = JSON.parse(text);
    if (!isJsonObject(call)) return undefined;
    const { name, arguments: args, ...others } = call;
    const isCall = typeof name === 'string' && tools.has(name) && isJsonObject(args) && Object.keys(others).length === 0;
    return isCall ? { name, arguments: args } : undefined;
  } catch {
    return undefined;
  }
}
