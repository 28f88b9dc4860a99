import type { ModelClient, ModelResponse } from '../../src/domain/model.ts';
import { scriptedAnswer, stepsAskedFor } from '../scripted-run.ts';

/** Calls that one answer asks for: as many as fit into one task of the workflow, with room. */
export const CALLS_AT_ONCE = 20;

/** A model that asks for the pages of the script many at a time, so that local calls follow one another without a model call between them. */
export function sequenceModel(): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: ({ conversation }) => {
      const content = conversation.flatMap((event) => event.content);
      const [prompt] = content;
      const asked = prompt?.type === 'message' && typeof prompt.content === 'string' ? stepsAskedFor(prompt.content) : undefined;
      return Promise.resolve(answerTo(content.filter(({ type }) => type === 'tool_result').length, asked ?? 0));
    },
  };
}

/** The model calls of a run of so many pages. */
export function sequenceAnswers(pages: number): number {
  return Math.ceil(pages / CALLS_AT_ONCE) + 1;
}

function answerTo(read: number, pages: number): ModelResponse {
  const next = Array.from({ length: Math.min(CALLS_AT_ONCE, pages - read) }, (_, place) => scriptedAnswer(read + place, pages));
  const toolCalls = next.flatMap(({ tool_calls: calls }) =>
    (calls ?? []).map(({ id, function: called }) => ({ id, name: called.name, arguments: called.arguments })),
  );
  const isLast = toolCalls.length === 0;
  return { content: isLast ? 'Done.' : '', toolCalls, usage: null, finishReason: isLast ? 'stop' : 'tool_calls' };
}
