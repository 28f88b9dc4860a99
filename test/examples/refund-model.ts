import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A provider with the Chat Completions API, for the programs of `docs/migrate`. */
export interface RefundModel extends AsyncDisposable {
  url: string;
  /** The number of requests so far. */
  requests: number;
}

interface Body {
  stream?: boolean;
  messages: { role: string; content?: unknown }[];
  tools?: { function: { name: string } }[];
}

/** Starts a model that looks up the order, refunds what was paid for it, and says so. It answers by the results that it gets. */
export async function refundModel(): Promise<RefundModel> {
  const model = { requests: 0 };
  const server = createServer((incoming, outgoing) => {
    let text = '';
    incoming.on('data', (chunk: Buffer) => (text += chunk.toString()));
    incoming.on('end', () => {
      model.requests += 1;
      const body = JSON.parse(text) as Body;
      const message = answerTo(body);
      const finish_reason = message.tool_calls === undefined ? 'stop' : 'tool_calls';
      const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
      const fields = { id: `c${model.requests}`, created: 1, model: 'gpt-5-mini' };
      if (body.stream === true) {
        outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
        const chunk = (choices: object[], more: object = {}): string =>
          `data: ${JSON.stringify({ ...fields, object: 'chat.completion.chunk', choices, ...more })}\n\n`;
        outgoing.end(`${chunk([{ index: 0, delta: message, finish_reason }])}${chunk([], { usage })}data: [DONE]\n\n`);
      } else {
        outgoing.writeHead(200, { 'content-type': 'application/json' });
        outgoing.end(JSON.stringify({ ...fields, object: 'chat.completion', choices: [{ index: 0, message, finish_reason }], usage }));
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return Object.assign(model, {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

function answerTo({ messages, tools = [] }: Body): { role: 'assistant'; content: string | null; tool_calls?: object[] } {
  const results = messages.filter(({ role }) => role === 'tool').map(({ content }) => JSON.stringify(content));
  const call = (pattern: RegExp, args: object): ReturnType<typeof answerTo> => {
    const name = tools.map((tool) => tool.function.name).find((one) => pattern.test(one)) ?? 'no such tool';
    const tool_call = { index: 0, id: `call-${results.length}`, type: 'function', function: { name, arguments: JSON.stringify(args) } };
    return { role: 'assistant', content: null, tool_calls: [tool_call] };
  };
  if (results.length === 0) return call(/look/i, { order: 42 });
  if (results.length === 1) return call(/refund/, { order: 42, amount: /paid\D+120/.test(results[0] ?? '') ? 120 : 1 });
  return { role: 'assistant', content: results[1]?.includes('paid $120') === true ? 'Refunded $120.' : 'Not refunded.' };
}
