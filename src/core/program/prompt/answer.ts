import { isToolCall } from '../../domain/content/content.ts';
import type { JsonValue } from '../../domain/json/json.ts';
import type { RecordedResponse } from '../../domain/model/recorded-response.ts';
import { thoughtOf } from '../../loop/state/thought.ts';
import type { AskDocument } from '../../domain/program/document.ts';

/**
 * Returns the output of an `ask`: the text of the answer, or the value that the step declares. Undefined if the answer does
 * not have the declared form.
 */
export function answerOf({ content, output }: Pick<RecordedResponse, 'content' | 'output'>, ask: AskDocument): JsonValue | undefined {
  if (output?.type === 'parsed') return output.value;
  const text = thoughtOf(content) ?? '';
  if (ask.output === undefined) return text;
  if (output === undefined || output.type === 'problem') return undefined;
  const call = content.find(isToolCall);
  return call === undefined ? (JSON.parse(text) as JsonValue) : (call.arguments['output'] ?? null);
}
