import type { ContentItem } from '../../../src/core/domain/content.ts';
import { RECALL_FRAME } from '../../../src/core/domain/memory.ts';
import type { ModelClient, ModelRequest, ModelResponse } from '../../../src/core/domain/model.ts';
import { answerTo, FORGETS, FORGOTTEN_KEY, INTERRUPTED, KEPT_KEY, LOOKS_UP, REFUNDS, REMEMBERS } from './conversation.ts';

type ToolCall = ModelResponse['toolCalls'][number];

/** The usage of every answer. */
const USAGE = { promptTokens: 20, completionTokens: 5, totalTokens: 25 };

/** The calls by the messages that need them. */
const NEEDED: Partial<Record<string, ToolCall[]>> = {
  [LOOKS_UP]: [{ id: LOOKS_UP, name: 'look_up', arguments: {} }],
  [REFUNDS]: [{ id: REFUNDS, name: 'refund', arguments: {} }],
  [REMEMBERS]: [
    { id: REMEMBERS, name: 'remember', arguments: { key: FORGOTTEN_KEY, value: 'a window seat' } },
    { id: `${REMEMBERS} too`, name: 'remember', arguments: { key: KEPT_KEY, value: 'no nuts' } },
  ],
  [FORGETS]: [{ id: FORGETS, name: 'forget', arguments: { key: FORGOTTEN_KEY } }],
};

/** A model whose answer depends on the conversation alone. `asked` is called at the beginning of each call. */
export function attendantModel(asked: () => void): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: (request, { signal }) => {
      asked();
      const items = request.conversation.flatMap(({ content }) => content);
      return newestText(items) === INTERRUPTED ? untilAborted(signal) : Promise.resolve(respond(request));
    },
  };
}

function respond({ conversation }: ModelRequest): ModelResponse {
  const items = conversation.flatMap(({ content }) => content);
  const newest = newestText(items);
  // A request for a summary ends with its instruction.
  if (!/^m\d$/.test(newest)) return { content: 'They asked, and it was done.', toolCalls: [], usage: USAGE, finishReason: 'stop' };
  const toolCalls = NEEDED[newest];
  if (toolCalls !== undefined && !hasResult(items, newest)) return { content: '', toolCalls, usage: USAGE, finishReason: 'tool_calls' };
  return { content: answerTo(newest), toolCalls: [], usage: USAGE, finishReason: 'stop' };
}

function newestText(items: readonly ContentItem[]): string {
  const texts = items.flatMap((item) =>
    item.type === 'message' && item.role === 'user' && typeof item.content === 'string' ? [item.content] : [],
  );
  return texts.findLast((text) => !text.startsWith(RECALL_FRAME)) ?? '';
}

function hasResult(items: readonly ContentItem[], callId: string): boolean {
  return items.some((item) => item.type === 'tool_result' && item.toolCallId === callId);
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    const abort = (): void => reject(signal.reason as Error);
    if (signal.aborted) abort();
    else signal.addEventListener('abort', abort, { once: true });
  });
}
