import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { type Answer, ANTHROPIC, BEDROCK, type Body, COMPATIBLE, type Failure, type Family, GOOGLE, MISTRAL } from './families.ts';
import { OPENAI } from './openai-family.ts';

/** Anthropic finds a beginning that it has cached within this many blocks before a mark, and caches no shorter one. */
const LOOK_BACK = 20;
const LEAST_TOKENS = 1_024;

/** What a read and a written token cost of what any other costs. */
const READ_PRICE = 0.1;
const WRITE_PRICE = 1.25;

/** The tokens of one request. */
interface CachedInput {
  plain: number;
  read: number;
  written: number;
}

/** The cache of Anthropic, by its documented rules: beginnings of requests that end at a mark. */
export class PrefixCache {
  readonly #known = new Set<string>();
  /** The requests so far. */
  readonly inputs: CachedInput[] = [];
  /** The most marks of a request. */
  marks = 0;

  /** Returns what a request reads and writes. */
  take({ tools = [], system = [], messages }: Body): CachedInput {
    const blocks = [tools, system, ...(messages as Body[]).map(({ content }) => content)].flat() as (Body | string)[];
    let [digest, tokens] = ['', 0];
    const prefixes = blocks.map((block) => {
      const { cache_control: mark, ...rest } = typeof block === 'string' ? { text: block, cache_control: undefined } : block;
      const text = JSON.stringify(rest);
      digest = createHash('sha1').update(digest).update(text).digest('hex');
      tokens += Math.ceil(text.length / 4);
      return { digest, tokens, isMarked: mark !== undefined };
    });
    const marks = prefixes.flatMap(({ isMarked }, index) => (isMarked ? [index] : []));
    this.marks = Math.max(this.marks, marks.length);
    const found = marks
      .flatMap((mark) => prefixes.slice(Math.max(0, mark - LOOK_BACK + 1), mark + 1))
      .filter((one) => this.#known.has(one.digest));
    const read = Math.max(0, ...found.map((one) => one.tokens));
    const cached = marks.flatMap((mark) => prefixes[mark] ?? []).filter((one) => one.tokens >= LEAST_TOKENS);
    for (const one of cached) this.#known.add(one.digest);
    const written = Math.max(0, (cached.at(-1)?.tokens ?? 0) - read);
    const input = { plain: tokens - read - written, read, written };
    this.inputs.push(input);
    return input;
  }

  /** The share of all tokens that was read from the cache. */
  get hit(): number {
    return this.#sum('read') / this.#all;
  }

  /** The cost of the input, as a fraction of its cost without a cache. */
  get price(): number {
    return (this.#sum('plain') + this.#sum('read') * READ_PRICE + this.#sum('written') * WRITE_PRICE) / this.#all;
  }

  get #all(): number {
    return this.#sum('plain') + this.#sum('read') + this.#sum('written');
  }

  #sum(field: keyof CachedInput): number {
    return this.inputs.reduce((sum, input) => sum + input[field], 0);
  }
}

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
