import { type ConversationEvent, ModelCallError, type ModelClient, type ModelResponse } from 'longhaul';

/** A model client for the chat API of Ollama, which answers with one JSON object per line. */
export function ollama(baseURL = 'http://localhost:11434'): ModelClient {
  return {
    capabilities: { structuredOutput: false },
    async call({ model, instructions, conversation, tools, settings }, { signal, onDelta }) {
      const messages = [...instructions.map((content) => ({ role: 'system', content })), ...conversation.flatMap(toMessages)];
      const functions = tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
      const options = { temperature: settings.temperature, num_predict: settings.maxOutputTokens, ...settings.extra };
      const body = JSON.stringify({ model, messages, tools: functions.map((one) => ({ type: 'function', function: one })), options });
      const answer = await fetch(`${baseURL}/api/chat`, { method: 'POST', body, signal });
      // Its status decides whether the call is retried.
      if (!answer.ok || answer.body === null) throw Object.assign(new Error(await answer.text()), { status: answer.status });
      const response: ModelResponse = { content: '', toolCalls: [], usage: null, finishReason: '' };
      for await (const line of linesOf(answer.body)) {
        const { error, message, done_reason: reason, ...counts } = JSON.parse(line) as Chunk;
        if (error !== undefined) throw new ModelCallError('model_server_error', `Ollama stopped in the middle of its answer: ${error}`);
        const { content = '', tool_calls: calls = [] } = message ?? {};
        if (content !== '') onDelta?.({ type: 'text', text: content });
        response.content += content;
        response.toolCalls.push(...calls.map((call) => call.function));
        if (reason === undefined) continue;
        const { prompt_eval_count: promptTokens = 0, eval_count: completionTokens = 0 } = counts;
        response.finishReason = reason;
        response.usage = { promptTokens, completionTokens, totalTokens: promptTokens + completionTokens };
      }
      if (response.finishReason === '') throw new ModelCallError('model_unreachable', 'The answer of Ollama ends before it is complete');
      return response;
    },
  };
}

/** One line of an answer. The last one has `done_reason`. */
interface Chunk {
  error?: string;
  message?: { content?: string; tool_calls?: { function: { name: string; arguments: object } }[] };
  done_reason?: string;
  prompt_eval_count?: number;
  eval_count?: number;
}

/** Messages of Ollama for one event of the run. */
function toMessages({ content }: ConversationEvent): object[] {
  return content.map((item) => {
    switch (item.type) {
      case 'message':
        return { role: item.role, content: typeof item.content === 'string' ? item.content : JSON.stringify(item.content) };
      case 'tool_call':
        return { role: 'assistant', content: '', tool_calls: [{ function: { name: item.name, arguments: item.arguments } }] };
      case 'tool_result':
        // Notes about the call, such as a text of a hook, are not part of its result: the model reads them, too.
        return { role: 'tool', tool_name: item.name, content: [JSON.stringify(item.content), ...(item.notes ?? [])].join('\n') };
    }
  });
}

async function* linesOf(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  let rest = '';
  for await (const text of body.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop() ?? '';
    yield* lines.filter((line) => line !== '');
  }
  if (rest !== '') yield rest;
}
