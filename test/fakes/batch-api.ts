import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A line of a file of requests. */
interface Line {
  custom_id: string;
  url: string;
  body: Record<string, unknown>;
}

/** A batch as the fake has it. */
export interface FakeBatch {
  id: string;
  key: string | undefined;
  lines: Line[];
  postedAt: number;
  isCancelled: boolean;
}

/** How the fake behaves. */
export interface BatchApiOptions {
  /** Milliseconds from the post of a batch to its end. */
  delayMs?: number;
  /** Returns the answer to a request: a body of the API of its URL, or the status and the body of an error. `expired`: none in time. */
  answer?: (line: Line) => Record<string, unknown> | { status: number; body: object } | 'expired';
  /** Returns the answer to a call that is made at once. */
  atOnce?: (line: Line) => Record<string, unknown>;
  /** Called before anything is done for a request; `lost`: it is done, and its answer never arrives. */
  disturb?: (request: string) => 'lost' | undefined;
}

/** A fake of the batches of OpenAI's API: files, batches and their results. */
export interface BatchApi {
  url: string;
  batches: FakeBatch[];
  /** The number of times that each request was paid for, by its custom id. */
  paid: Map<string, number>;
  /** The requests so far, such as `POST /batches`. */
  requests: string[];
  options: BatchApiOptions;
  close(): Promise<void>;
}

/** The usage of each answer. */
export const BATCH_USAGE = { prompt_tokens: 1_000, completion_tokens: 100, total_tokens: 1_100 };

/** A completion with a text, or with calls of tools. */
export function completion(text: string, calls: { name: string; arguments: object; id?: string }[] = []): Record<string, unknown> {
  const tool_calls = calls.map(({ id = `call_${calls.length}`, name, ...call }) => ({
    id,
    type: 'function',
    function: { name, arguments: JSON.stringify(call.arguments) },
  }));
  const message = { role: 'assistant', content: text, ...(calls.length === 0 ? {} : { tool_calls }) };
  return {
    object: 'chat.completion',
    choices: [{ index: 0, message, finish_reason: calls.length === 0 ? 'stop' : 'tool_calls' }],
    usage: BATCH_USAGE,
  };
}

/** The text of the last message of a request. */
export function lastText({ body }: Line): string {
  const messages = body['messages'] as { content: unknown }[];
  return String(messages.at(-1)?.content);
}

/** Starts the fake on a free port. */
export async function startBatchApi(options: BatchApiOptions = {}): Promise<BatchApi> {
  const files = new Map<string, string>();
  const api: Omit<BatchApi, 'url' | 'close'> = { batches: [], paid: new Map(), requests: [], options };

  const statusOf = (batch: FakeBatch): string => {
    if (batch.isCancelled) return 'cancelled';
    const isDone = Date.now() - batch.postedAt >= (api.options.delayMs ?? 0);
    return isDone ? (batch.lines.some((line) => answerTo(line) === 'expired') ? 'expired' : 'completed') : 'in_progress';
  };
  const answerTo = (line: Line): ReturnType<NonNullable<BatchApiOptions['answer']>> =>
    api.options.answer?.(line) ?? completion(`answer to ${lastText(line)}`);
  const shown = (batch: FakeBatch): object => ({
    id: batch.id,
    object: 'batch',
    status: statusOf(batch),
    created_at: Math.floor(batch.postedAt / 1_000),
    metadata: batch.key === undefined ? {} : { longhaul: batch.key },
    output_file_id: `out-${batch.id}`,
    error_file_id: `err-${batch.id}`,
  });
  const resultLines = (batch: FakeBatch, ofErrors: boolean): string => {
    const results = batch.lines.flatMap((line): object[] => {
      const answer = answerTo(line);
      const isError = answer === 'expired' || batch.isCancelled || ('status' in answer && typeof answer['status'] === 'number');
      if (isError !== ofErrors) return [];
      const { custom_id } = line;
      if (answer === 'expired' || batch.isCancelled)
        return [{ custom_id, response: null, error: { code: 'batch_expired', message: 'expired' } }];
      const [status, body] = isError ? [answer['status'], answer['body']] : [200, answer];
      return [{ custom_id, response: { status_code: status, body }, error: null }];
    });
    // In no order.
    return results
      .map((line) => `${JSON.stringify(line)}\n`)
      .toReversed()
      .join('');
  };

  const handle = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { pathname } = new URL(incoming.url ?? '', 'http://fake');
    const path = pathname.replace(/^\/v1/, '');
    const [, kind = '', id = '', what = ''] = path.split('/');
    const isAtOnce = path === '/chat/completions';
    const name = isAtOnce
      ? 'POST /chat/completions'
      : `${incoming.method} /${kind}${id === '' ? '' : '/:id'}${what === '' ? '' : `/${what}`}`;
    api.requests.push(name);
    const chunks: Buffer[] = [];
    for await (const chunk of incoming) chunks.push(chunk as Buffer);
    const isLost = api.options.disturb?.(name) === 'lost';
    const answered = async (): Promise<object | string | undefined> => {
      switch (name) {
        case 'POST /files': {
          const form = await new Response(Buffer.concat(chunks), {
            headers: { 'content-type': incoming.headers['content-type'] ?? '' },
          }).formData();
          const file = form.get('file');
          const fileId = `file-${files.size + 1}`;
          files.set(fileId, file instanceof Blob ? await file.text() : '');
          return { id: fileId, object: 'file' };
        }
        case 'POST /batches': {
          const { input_file_id: input, metadata } = JSON.parse(Buffer.concat(chunks).toString()) as {
            input_file_id: string;
            metadata?: { longhaul?: string };
          };
          const lines = (files.get(input) ?? '').split('\n').filter((line) => line !== '');
          const batch: FakeBatch = {
            id: `batch_${api.batches.length + 1}`,
            key: metadata?.longhaul,
            lines: lines.map((line) => JSON.parse(line) as Line),
            postedAt: Date.now(),
            isCancelled: false,
          };
          api.batches.push(batch);
          for (const { custom_id } of batch.lines) api.paid.set(custom_id, (api.paid.get(custom_id) ?? 0) + 1);
          return shown(batch);
        }
        case 'GET /batches':
          return { object: 'list', data: api.batches.toReversed().map(shown), has_more: false };
        case 'GET /batches/:id': {
          const batch = api.batches.find((one) => one.id === id);
          return batch && shown(batch);
        }
        case 'POST /batches/:id/cancel': {
          const batch = api.batches.find((one) => one.id === id);
          if (batch !== undefined) batch.isCancelled = true;
          return batch && shown(batch);
        }
        case 'GET /files/:id/content': {
          const batch = api.batches.find((one) => id.endsWith(`-${one.id}`));
          return batch && resultLines(batch, id.startsWith('err-'));
        }
        // A call that is made at once.
        case 'POST /chat/completions': {
          const body = JSON.parse(Buffer.concat(chunks).toString()) as Record<string, unknown>;
          const line = { custom_id: '', url: '', body };
          return api.options.atOnce?.(line) ?? completion(`at once: ${lastText(line)}`);
        }
        default:
          return undefined;
      }
    };
    const answer = await answered();
    if (isLost) return void outgoing.destroy();
    if (answer === undefined) outgoing.writeHead(404, { 'content-type': 'application/json' }).end('{"error":{"message":"not found"}}');
    else if (typeof answer === 'string') outgoing.writeHead(200, { 'content-type': 'application/jsonl' }).end(answer);
    else outgoing.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  };

  const server = createServer((incoming, outgoing) => {
    handle(incoming, outgoing).catch((error: unknown) => outgoing.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return Object.assign(api, { url: `http://127.0.0.1:${port}/v1`, close });
}
