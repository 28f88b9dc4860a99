import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import { openConnection } from '../../../activities/mcp/open-connection.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';

/** A message that a client has sent. */
export interface Sent {
  id?: string | number;
  method: string;
  params: { name?: string; arguments?: unknown; cursor?: unknown };
}

/** The answers of a server by method: a whole message except its id, or the result alone. */
export type Answers = Partial<Record<string, (sent: Sent, all: readonly Sent[]) => unknown>>;

/** How a server speaks. */
export interface Speaking {
  /** `json` answers each request with JSON, `stream` with an event stream, `sse` is the protocol before streamable HTTP. */
  form?: 'json' | 'stream' | 'sse';
  /** The status of a server of the older protocol for a POST to its address. */
  refusal?: number;
  /** Handles a request in another way. True if it has. */
  http?: (request: IncomingMessage, response: ServerResponse, body: string) => boolean;
}

/** A server of the protocol, written by hand, so that it can be wrong in every way. */
export class OddServer implements AsyncDisposable {
  readonly sent: Sent[] = [];
  /** The number of event streams of the older protocol that clients have opened. */
  streams = 0;
  readonly #server = createServer((request, response) => void this.#receive(request, response));
  readonly #answers: Answers;
  readonly #speaking: Speaking;
  #stream: ServerResponse | undefined;

  private constructor(answers: Answers, speaking: Speaking) {
    this.#answers = answers;
    this.#speaking = speaking;
  }

  static async start(answers: Answers = {}, speaking: Speaking = {}): Promise<OddServer> {
    const server = new OddServer(answers, speaking);
    server.#server.listen(0, '127.0.0.1');
    await once(server.#server, 'listening');
    return server;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/mcp`;
  }

  /** The number of requests with a method. */
  count(method: string): number {
    return this.sent.filter((one) => one.method === method).length;
  }

  /** Ends the open stream of the older protocol, like a proxy that is tired of it. */
  cut(): void {
    this.#stream?.destroy();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    this.#server.close();
    await once(this.#server, 'close');
  }

  async #receive(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = '';
    for await (const part of request) body += String(part);
    const { form = 'json', refusal = 405, http } = this.#speaking;
    if (http?.(request, response, body)) return;
    if (form === 'sse' && request.method === 'GET') {
      this.streams += 1;
      this.#stream = response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: endpoint\ndata: /messages?session=${this.streams}\n\n`);
      return;
    }
    if (request.method !== 'POST' || (form === 'sse' && !request.url?.startsWith('/messages'))) {
      response.writeHead(form === 'sse' ? refusal : 405, { 'content-type': 'text/plain' }).end('Cannot do that');
      return;
    }
    const sent = JSON.parse(body) as Sent;
    this.sent.push(sent);
    const { id } = sent;
    if (id === undefined) {
      response.writeHead(202).end();
      return;
    }
    const answer = await this.#answerTo(sent);
    if (answer === undefined) return;
    const text = JSON.stringify(answer);
    if (form === 'sse') {
      response.writeHead(202).end('Accepted');
      this.#stream?.write(`event: message\ndata: ${text}\n\n`);
    } else if (form === 'stream') response.writeHead(200, { 'content-type': 'text/event-stream' }).end(`event: message\ndata: ${text}\n\n`);
    else response.writeHead(200, { 'content-type': 'application/json' }).end(text);
  }

  async #answerTo(sent: Sent): Promise<unknown> {
    const { id, method } = sent;
    const given = this.#answers[method];
    if (given !== undefined) {
      const answer = await given(sent, this.sent);
      if (answer === HANG) return undefined;
      const isWhole = typeof answer === 'object' && answer !== null && ('error' in answer || 'jsonrpc' in answer);
      return isWhole ? { jsonrpc: '2.0', id, ...answer } : { jsonrpc: '2.0', id, result: answer };
    }
    if (method === 'ping') return { jsonrpc: '2.0', id, result: {} };
    if (method !== 'initialize') return { jsonrpc: '2.0', id, error: { code: -32_601, message: 'Method not found' } };
    const result = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } };
    return { jsonrpc: '2.0', id, result };
  }
}

/** The answer of a server that gives none. */
export const HANG = Symbol('hang');

/** Returns a pool of real connections. */
export function realPool(secrets = new SecretVault()): McpPool {
  const pool = new McpPool((server, stop) => openConnection(server, { secrets, log: () => undefined }, stop));
  pool.start();
  return pool;
}
