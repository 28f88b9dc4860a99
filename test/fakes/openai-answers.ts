import type { Handler } from './openai-server.ts';

/** A chunk of a Chat Completions stream. */
export function chatChunk(delta: Record<string, unknown>, finishReason: string | null = null): Record<string, unknown> {
  return { id: 'chatcmpl-1', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason: finishReason }] };
}

/** The usage that every answer of this file reports. */
export const CHAT_USAGE = {
  prompt_tokens: 20,
  completion_tokens: 10,
  total_tokens: 30,
  prompt_tokens_details: { cached_tokens: 16 },
  completion_tokens_details: { reasoning_tokens: 4 },
};

/** A complete Chat Completions stream: the deltas, the finish reason, the usage, the end mark. */
export function chatStream(deltas: Record<string, unknown>[], finishReason = 'stop'): Handler {
  return (reply) => {
    reply.events(...deltas.map((delta) => chatChunk(delta)), chatChunk({}, finishReason), { choices: [], usage: CHAT_USAGE });
    reply.raw('data: [DONE]\n\n');
    reply.end();
  };
}

/** A Chat Completions stream with this text. */
export function says(text: string): Handler {
  return chatStream([{ role: 'assistant', content: '' }, { content: text }]);
}

/** A whole Chat Completions answer without streaming. */
export function chatCompletion(message: Record<string, unknown>, finishReason = 'stop'): Handler {
  return (reply) => reply.json(200, { choices: [{ index: 0, message, finish_reason: finishReason }], usage: CHAT_USAGE });
}

/** A Responses stream with these output items, and the text of its messages as deltas. */
export function responsesStream(output: Record<string, unknown>[], rest: { status?: string; [field: string]: unknown } = {}): Handler {
  const response = {
    status: 'completed',
    output,
    usage: {
      input_tokens: 20,
      output_tokens: 10,
      total_tokens: 30,
      input_tokens_details: { cached_tokens: 16 },
      output_tokens_details: { reasoning_tokens: 4 },
    },
    ...rest,
  };
  return (reply) => {
    reply.events({ type: 'response.created', response: { status: 'in_progress', output: [] } });
    for (const item of output) reply.events(...textDeltas(item), { type: 'response.output_item.done', item });
    reply.events({ type: `response.${response.status}`, response });
    reply.end();
  };
}

function textDeltas(item: Record<string, unknown>): Record<string, unknown>[] {
  const content: { text?: string }[] = Array.isArray(item['content']) ? item['content'] : [];
  return content.flatMap(({ text }) => (text === undefined ? [] : [{ type: 'response.output_text.delta', delta: text }]));
}

/** A message item of the Responses API. */
export function outputMessage(text: string): Record<string, unknown> {
  return { type: 'message', role: 'assistant', status: 'completed', content: [{ type: 'output_text', text, annotations: [] }] };
}
