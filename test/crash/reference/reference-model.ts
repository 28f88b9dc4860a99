import { isToolCall } from '../../../src/core/domain/content.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import { answerOf, SCRIPT } from './reference-script.ts';

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The name of a model that never answers. */
export const ABSENT = 'absent';

/**
 * Models whose answers depend on the conversation alone: they are the same for every worker and every repetition. `movesOn` is called in an
 * attempt where one model has failed and the next one is called.
 */
export function referenceModel(movesOn: () => void): ModelClient {
  let hasFailed = false;
  return {
    capabilities: { structuredOutput: true },
    call: async (request) => {
      if (request.model === ABSENT) {
        hasFailed = true;
        throw new ModelCallError('model_server_error', 'It is down');
      }
      if (hasFailed) movesOn();
      hasFailed = false;
      return respond(request);
    },
  };
}

function respond({ conversation }: ModelRequest): ModelResponse {
  const asked = conversation.filter(({ content }) => content.some(isToolCall)).length;
  const toolCalls = SCRIPT[asked];
  if (toolCalls !== undefined) return { content: `step ${asked + 1}`, toolCalls: [...toolCalls], usage: USAGE, finishReason: 'tool_calls' };
  const results = conversation.flatMap(({ content }) => content).filter((item) => item.type === 'tool_result');
  return { content: JSON.stringify(answerOf(results)), toolCalls: [], usage: USAGE, finishReason: 'stop' };
}
