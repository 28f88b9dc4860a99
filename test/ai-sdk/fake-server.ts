import http from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Answer, Body, Failure, Family } from './families.ts';
import { ANTHROPIC, BEDROCK, COMPATIBLE, GOOGLE, MISTRAL } from './families.ts';
import { OPENAI } from './openai-family.ts';
import type { PrefixCache } from './prefix-cache.ts';

const FAMILIES = [ANTHROPIC, GOOGLE, BEDROCK, COMPATIBLE, MISTRAL, OPENAI];

/** What the server does with a request: it answers, whole or cut, or it fails. */
export type Reply = Chunks | (Answer & { cut?: { after: number; how: 'ends' | 'breaks' | 'hangs' } }) | Failure;

/** The chunks of an answer, sent unchanged. */
interface Chunks {
  family: Family;
  chunks: Buffer[];
}

/** The APIs of all families on one port. A request that breaks a rule is refused, and takes no reply of the script. */
export class FakeServer {
  readonly requests: { path: string; body: Body }[] = [];
  /** What the rules of the families refused. */
  readonly refused: string[] = [];
  /** The requests whose connection was closed before the answer had ended. */
  closed = 0;
  /** The cache of Anthropic, which its answers report. Absent: they report what every answer reports. */
  cache?: PrefixCache;
  readonly #script: Reply[] = [];
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /** Starts over: the next requests get these replies. */
  script(...replies: Reply[]): void {
    this.requests.length = 0;
    this.refused.length = 0;
    this.closed = 0;
    this.#script.splice(0, Infinity, ...replies);
  }

  /** The body of the last request. */
  get last(): Body {
    return this.requests.at(-1)?.body ?? {};
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const path = request.url ?? '';
    const body = JSON.parse(Buffer.concat(pieces).toString('utf8')) as Body;
    this.requests.push({ path, body });
    const family = FAMILIES.find((one) => path.startsWith(one.path));
    if (family === undefined) return void response.writeHead(404).end('no such API');
    const refusal = family.refusal(body);
    if (refusal !== undefined) {
      this.refused.push(refusal);
      return fail(response, family.failure(400, refusal));
    }
    const reply = this.#script.shift() ?? { parts: [{ text: 'I have nothing to add.' }] };
    if ('status' in reply) return fail(response, reply);
    if ('chunks' in reply) return void response.writeHead(200, { 'content-type': family.contentType }).end(Buffer.concat(reply.chunks));
    response.on('close', () => (this.closed += response.writableFinished ? 0 : 1));
    const input = family === ANTHROPIC ? this.cache?.take(body) : undefined;
    await send(response, family, input === undefined ? reply : { ...reply, input }, body);
  }
}

function fail(response: http.ServerResponse, { status, headers, body }: Failure): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

async function send(response: http.ServerResponse, family: Family, reply: Extract<Reply, { parts: unknown }>, body: Body): Promise<void> {
  response.writeHead(200, { 'content-type': family.contentType });
  response.flushHeaders();
  const chunks = family.chunks(reply, body);
  const { after, how } = reply.cut ?? { after: chunks.length, how: 'ends' as const };
  for (const chunk of chunks.slice(0, after)) await new Promise((resolve) => response.write(chunk, resolve));
  if (how === 'ends') response.end();
  // Written data may still be in flight.
  else if (how === 'breaks') setTimeout(() => response.socket?.destroy(), 2);
}
