import { setTimeout as pause } from 'node:timers/promises';
import type { ContentItem, ModelClient, RawToolCall } from 'longhaul';

/** Creates a model that answers by a few rules, after a pause. It knows no more than the conversation. */
export function scriptedModel({ pauseMs = 0 }: { pauseMs?: number } = {}): ModelClient {
  return {
    capabilities: { structuredOutput: true },
    call: async ({ conversation }, { signal }) => {
      await pause(pauseMs, undefined, { signal });
      const response = responseTo(conversation.flatMap(({ content }) => content));
      const [content, toolCalls] = typeof response === 'string' ? [response, []] : ['I will see to it.', [response]];
      const finishReason = toolCalls.length === 0 ? 'stop' : 'tool_calls';
      return { content, toolCalls, usage: { promptTokens: 100, completionTokens: 20, totalTokens: 120 }, finishReason };
    },
  };
}

function responseTo(items: readonly ContentItem[]): string | RawToolCall {
  const last = items.at(-1);
  if (last?.type === 'tool_result') {
    return last.status === 'error' ? 'I am sorry: that was not approved.' : 'You get your money back within three days.';
  }
  const said = items.flatMap((item) => (item.type === 'message' && item.role === 'user' ? [textOf(item.content)] : []));
  const message = said.at(-1) ?? '';
  if (/broken|money|refund/i.test(message)) {
    const order = Number(/\d+/.exec(said.findLast((text) => /\d/.test(text)) ?? '')?.[0] ?? 42);
    return { id: `call_${items.length}`, name: 'refund', arguments: { order, amount: 80 } };
  }
  if (/first|remember/i.test(message)) return `The first thing you said was: "${said[0]}"`;
  return 'I am a scripted model. Tell me that order 42 arrived broken, or ask what you said first.';
}

function textOf(content: Extract<ContentItem, { type: 'message' }>['content']): string {
  return typeof content === 'string' ? content : content.map((part) => (part.type === 'text' ? part.text : '')).join('');
}
