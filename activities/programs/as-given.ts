import { isToolCall } from '../../src/core/domain/content/content.ts';
import { FINAL_ANSWER } from '../../src/core/domain/content/tool-text.ts';
import { isJsonObject } from '../../src/core/domain/json/json.ts';
import type { ModelResponse } from '../../src/core/domain/model/model.ts';
import type { RecordedResponse } from '../../src/core/domain/model/recorded-response.ts';
import { cleanJson } from '../../src/model/clean-json.ts';

/**
 * Returns a response of a lenient program with the value that the model gives beside its text, even if it does not fit the declared
 * form or none is declared. Without such a value, or with an empty object, the text is the answer, as in AXON.
 */
export function asGiven(response: RecordedResponse, answer: ModelResponse): RecordedResponse {
  const { output, ...others } = response;
  if (output !== undefined && output.type !== 'problem') return response;
  const structured = isEmpty(answer.structured) ? undefined : cleanJson(answer.structured);
  const value = structured ?? response.content.filter(isToolCall).find(({ name }) => name === FINAL_ANSWER)?.arguments['output'];
  return value === undefined ? others : { ...others, output: { type: 'parsed', value } };
}

function isEmpty(structured: unknown): boolean {
  return structured === undefined || structured === null || (isJsonObject(structured) && Object.keys(structured).length === 0);
}
