// Shared state: the answer in a response.

import { isToolCall } from '../../domain/content.ts';
import { FINAL_ANSWER } from '../../domain/tool-calls.ts';
import type { JsonValue } from '../../domain/json.ts';
import type { RecordedResponse } from '../../domain/model.ts';
import { thoughtOf } from './thought.ts';

/**
 * Returns the answer of a step: its text, or the value of the form that is declared. Undefined if the answer does not have
 * that form.
 */
export function answerOf(
  { content, output, problems = {} }: Pick<RecordedResponse, 'content' | 'output' | 'problems'>,
  declared: { output?: object },
): JsonValue | undefined {
  if (output?.type === 'parsed') return output.value;
  const text = thoughtOf(content) ?? '';
  if (declared.output === undefined) return text;
  if (output === undefined || output.type === 'problem') return undefined;
  const calls = content.filter(isToolCall);
  if (calls.length === 0) return JSON.parse(text) as JsonValue;
  const answer = calls.find(({ name, toolCallId }) => name === FINAL_ANSWER && !Object.hasOwn(problems, toolCallId));
  return answer?.arguments['output'] ?? null;
}
