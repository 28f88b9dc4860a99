import type { ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model.ts';
import { uniqueText } from '../script/unique-text.ts';

/** The name of the tool that runs an agent, and of one that the agent does not have: a call of it costs only a model call. */
export const AGENT_TOOL = 'reader';
export const UNKNOWN_TOOL = 'nothing';

/** The calls of each response of the parent, in order. The answer after the last of them ends the run. */
export type Responses = { tool: string; calls: number }[];

/** Returns the task of a child: all have the same length. */
export function requestOf(index: number): string {
  return `Read page ${10_000 + index}.`;
}

/** A model for a parent that makes the calls of a script. */
export function delegatingModel(responses: Responses): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request) => {
      const made = resultsIn(request);
      let before = 0;
      for (const { tool, calls } of responses) {
        if (made === before) return Promise.resolve(asking(tool, before, calls));
        before += calls;
      }
      return Promise.resolve(answer('Done.'));
    },
  };
}

/** A model for children, which answers each task with a text of `resultChars` characters. */
export function readingModel(resultChars: number): ModelClient {
  let page = 0;
  return {
    capabilities: { structuredOutput: true },
    call: () => Promise.resolve(answer(uniqueText((page += 1), resultChars))),
  };
}

/** A model for children that answers nothing until its call is aborted. `begun` counts its calls. */
export function silentModel(): { client: ModelClient; begun: () => number } {
  let begun = 0;
  const client: ModelClient = {
    capabilities: { structuredOutput: true },
    call: (_, { signal }) => {
      begun += 1;
      return new Promise((_resolve, reject) => {
        const abort = (): void => reject(signal.reason as Error);
        if (signal.aborted) abort();
        else signal.addEventListener('abort', abort, { once: true });
      });
    },
  };
  return { client, begun: () => begun };
}

function asking(tool: string, first: number, calls: number): ModelResponse {
  const toolCalls = Array.from({ length: calls }, (_, index) => ({
    id: `call_${String(first + index).padStart(24, '0')}`,
    name: tool,
    arguments: JSON.stringify({ request: requestOf(first + index) }),
  }));
  return { ...answer(''), toolCalls, finishReason: 'tool_calls' };
}

function answer(content: string): ModelResponse {
  return { content, toolCalls: [], usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120 }, finishReason: 'stop' };
}

function resultsIn({ conversation }: ModelRequest): number {
  return conversation.flatMap(({ content }) => content).filter(({ type }) => type === 'tool_result').length;
}
