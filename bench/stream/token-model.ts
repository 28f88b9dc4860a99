import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises';
import type { ContentItem } from '../../src/core/domain/content/content.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../src/core/domain/model/model.ts';
import { tokenText } from './token.ts';

/** The first message of a run, as JSON: each answer streams so many tokens, and all but the last one call a tool. */
export interface TokenScript {
  /** Steps with a call. */
  steps: number;
  /** Tokens of each answer. */
  tokens: number;
  /** Tokens in a second; 0: without a pause. */
  rate: number;
  /** Milliseconds before the first token, so that runs which began together do not stream in step. */
  phaseMs: number;
  /** True: a call that waits for approval comes first. */
  asks?: boolean;
}

const USAGE = { promptTokens: 100, completionTokens: 20, totalTokens: 120 };

/** A model that stamps each token with the time at which it reports it. It is called in the worker's process, without HTTP. */
export function tokenModel(): ModelClient {
  return {
    capabilities: { structuredOutput: true, contextTokens: 10_000_000 },
    call: async (request, { onDelta, signal }) => {
      const script = JSON.parse(firstMessage(request)) as TokenScript;
      const results = request.conversation.flatMap(({ content }) => content).filter(isResult);
      const notes = results.filter(({ toolCallId }) => toolCallId.startsWith('note')).length;
      if (script.asks === true && results.length === 0) return answer('', 'ask', notes);
      let content = '';
      const begun = performance.now() + script.phaseMs;
      for (let index = 0; index < script.tokens; index += 1) {
        await due(begun, index, script.rate, signal);
        const token = tokenText(notes * script.tokens + index);
        content += token;
        onDelta?.({ type: 'text', text: token });
      }
      return answer(content, notes < script.steps ? 'note' : undefined, notes);
    },
  };
}

/** Waits until a token is due. A timer that is late delays none of the tokens after it. */
async function due(begun: number, index: number, rate: number, signal: AbortSignal): Promise<void> {
  if (rate === 0) return turn();
  const ms = begun + (index * 1_000) / rate - performance.now();
  if (ms > 0) await pause(ms, undefined, { signal });
}

function answer(content: string, tool: string | undefined, number: number): ModelResponse {
  const toolCalls = tool === undefined ? [] : [{ id: `${tool}-${String(number).padStart(4, '0')}`, name: tool, arguments: {} }];
  return { content, toolCalls, usage: USAGE, finishReason: tool === undefined ? 'stop' : 'tool_calls' };
}

function isResult(item: ContentItem): item is Extract<ContentItem, { type: 'tool_result' }> {
  return item.type === 'tool_result';
}

function firstMessage({ conversation }: ModelRequest): string {
  const item = conversation[0]?.content[0];
  return item?.type === 'message' && typeof item.content === 'string' ? item.content : '';
}
