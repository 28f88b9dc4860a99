import { isToolCall } from '../../core/domain/content/content.ts';
import type { RecordedResponse } from '../../core/domain/model/recorded-response.ts';

/** Adds the reason why the only call of a response must not run. */
export function withProblem(response: RecordedResponse, problem: string): RecordedResponse {
  const entries = response.content.filter(isToolCall).map(({ toolCallId }): [string, string] => [toolCallId, problem]);
  return { ...response, problems: Object.fromEntries(entries) };
}
