import { isToolCall } from '../../../src/core/domain/content.ts';
import { RUN_CODE } from '../../../src/core/domain/tool-calls.ts';
import type { ModelClient } from '../../../src/core/domain/model.ts';
import { CELLS } from './coder-script.ts';

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** A model that requests cells in sequence. Its answer depends on the conversation alone. */
export function coderModel(): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: ({ conversation }) => {
      const asked = conversation.filter(({ content }) => content.some(isToolCall)).length;
      const code = CELLS[asked];
      const calls = code === undefined ? [] : [{ id: `c${asked + 1}`, name: RUN_CODE, arguments: { code } }];
      return Promise.resolve({
        content: code === undefined ? 'Done.' : '',
        toolCalls: calls,
        usage: USAGE,
        finishReason: code === undefined ? 'stop' : 'tool_calls',
      });
    },
  };
}
