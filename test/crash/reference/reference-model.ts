import { isToolCall } from '../../../src/core/domain/content.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import { answerOf, SCRIPT } from './reference-script.ts';

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** A model whose answer depends on the conversation alone: it is the same for every worker and every repetition. */
export function referenceModel(): ModelClient {
  return { capabilities: { structuredOutput: true }, call: (request) => Promise.resolve(respond(request)) };
}

function respond({ conversation }: ModelRequest): ModelResponse {
  const asked = conversation.filter(({ content }) => content.some(isToolCall)).length;
  const toolCalls = SCRIPT[asked];
  if (toolCalls !== undefined) return { content: `step ${asked + 1}`, toolCalls: [...toolCalls], usage: USAGE, finishReason: 'tool_calls' };
  const results = conversation.flatMap(({ content }) => content).filter((item) => item.type === 'tool_result');
  return { content: JSON.stringify(answerOf(results)), toolCalls: [], usage: USAGE, finishReason: 'stop' };
}
