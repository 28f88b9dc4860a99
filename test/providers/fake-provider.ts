import { createHash } from 'node:crypto';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { isJsonObject } from '../../src/core/domain/json.ts';
import type { Ending, Failure, Minted, Reply, Said } from './answer.ts';
import { chatBody, event } from './chat-stream.ts';
import type { Family, WordedFailure } from './families/family.ts';
import { readRequest, type SentRequest } from './sent-request.ts';

/** What an answer of the Responses API is made with. */
interface ResponsesMaking {
  model: string;
  minted: Minted;
  /** Counts the calls of the cell. */
  nextCall: () => number;
}

type Item = Record<string, unknown>;

/** Returns the events of an answer of the Responses API. */
function responsesBody(said: Said, { model, minted, nextCall }: ResponsesMaking): string {
  const id = `resp_${minted.signature}`;
  const ending = said.ending ?? 'stop';
  const cut = isCut(ending);
  const items = itemsOf(said, minted, nextCall);
  const response = { id, object: 'response', created_at: 1_764_000_000, model, status: 'in_progress', output: [] as Item[] };
  const events: Item[] = [{ type: 'response.created', response }, ...items.flatMap(eventsOf)];
  // The protocol has no answer without an end: a stream that stops before it is cut.
  if (ending !== 'none') {
    const usage = said.dialect?.usage === 'absent' ? {} : { usage: { input_tokens: 40, output_tokens: 12, total_tokens: 52 } };
    const ended = { ...response, status: cut === undefined ? 'completed' : 'incomplete', output: items, ...usage };
    const details = cut === undefined ? {} : { incomplete_details: { reason: cut } };
    events.push({ type: cut === undefined ? 'response.completed' : 'response.incomplete', response: { ...ended, ...details } });
  }
  if (said.dialect?.whole === true) {
    const last = events.at(-1)?.['response'];
    return JSON.stringify(last ?? response);
  }
  return events.map((one, sequence) => `event: ${String(one['type'])}\n${event({ ...one, sequence_number: sequence })}`).join('');
}

/** Returns the events of a response that fails after its text. */
function failedResponse(text: string | undefined, error: Item, model: string): string {
  const response = { id: 'resp_failed', object: 'response', model, status: 'failed', output: [], error };
  const events: Item[] = [
    { type: 'response.created', response: { ...response, status: 'in_progress', error: null } },
    ...(text === undefined ? [] : [{ type: 'response.output_text.delta', item_id: 'msg_1', delta: text }]),
    { type: 'response.failed', response },
  ];
  return events.map((one) => `event: ${String(one['type'])}\n${event(one)}`).join('');
}

function isCut(ending: Ending): string | undefined {
  if (ending === 'length') return 'max_output_tokens';
  return ending === 'filtered' ? 'content_filter' : undefined;
}

function itemsOf(said: Said, { thought, signature }: Minted, nextCall: () => number): Item[] {
  const { text, refusal, calls = [], reasoning } = said;
  const parts = [
    ...(text === undefined ? [] : [{ type: 'output_text', text, annotations: [] }]),
    ...(refusal === undefined ? [] : [{ type: 'refusal', refusal }]),
  ];
  const summary = [{ type: 'summary_text', text: reasoning ?? thought }];
  return [
    { id: `rs_${signature}`, type: 'reasoning', summary, encrypted_content: signature },
    ...(parts.length === 0 ? [] : [{ id: `msg_${signature}`, type: 'message', role: 'assistant', status: 'completed', content: parts }]),
    ...calls.map(({ name, arguments: args, id }) => {
      const n = nextCall();
      const whole = typeof args === 'string' ? args : JSON.stringify(args);
      return { id: `fc_${n}`, type: 'function_call', status: 'completed', call_id: id ?? `call_${n}`, name, arguments: whole };
    }),
  ];
}

function eventsOf(item: Item, output_index: number): Item[] {
  const at = { output_index, item_id: item['id'] };
  const middle: Item[] = [];
  if (item['type'] === 'function_call') {
    const text = String(item['arguments']);
    for (const delta of [text.slice(0, text.length / 2), text.slice(text.length / 2)]) {
      middle.push({ type: 'response.function_call_arguments.delta', ...at, delta });
    }
    middle.push({ type: 'response.function_call_arguments.done', ...at, arguments: text });
  }
  const content: unknown = item['content'];
  for (const part of Array.isArray(content) ? (content as Item[]) : []) {
    const type = part['type'] === 'refusal' ? 'response.refusal.delta' : 'response.output_text.delta';
    middle.push({ type, ...at, delta: part['refusal'] ?? part['text'] });
  }
  const begun = item['type'] === 'function_call' ? { ...item, arguments: '', status: 'in_progress' } : item;
  return [
    { type: 'response.output_item.added', output_index, item: begun },
    ...middle,
    { type: 'response.output_item.done', output_index, item },
  ];
}

/** The header that tells the fake which cell a request belongs to. */
export const CELL_HEADER = 'x-cell';

/** What the fake did with a request. */
export interface Exchanged {
  request: SentRequest;
  /** The text of the rule that the request broke; undefined if it broke none. */
  refused?: string;
  reply?: Reply;
}

/** The entries of a script. A function reads the request first. */
export type ScriptEntry = Reply | ((request: SentRequest) => Reply);

/** The provider of one cell: the rules of a family, and a script for requests that follow them. */
export class CellProvider {
  readonly exchanged: Exchanged[] = [];
  /** Longer requests are too long for the provider. */
  longest = Infinity;
  readonly #family: Family;
  readonly #script: ScriptEntry[];
  readonly #always: ((request: SentRequest) => Reply) | undefined;
  readonly #minted: Minted[] = [];
  #calls = 0;
  #unplanned = 0;

  constructor(family: Family, script: readonly ScriptEntry[], always?: (request: SentRequest) => Reply) {
    this.#family = family;
    this.#script = [...script];
    this.#always = always;
  }

  /** The entries of the script that no request has reached, and the requests that it did not plan. */
  get leftOver(): { entries: number; unplanned: number } {
    return { entries: this.#script.length, unplanned: this.#unplanned };
  }

  /** The provider no longer recognizes the items that it has sent to be sent back: its keys were changed. */
  forget(): void {
    for (const one of this.#minted) one.forgotten = true;
  }

  /** Answers a request. */
  answer(path: string, key: string, json: string): { reply: Reply; body?: string } {
    const request = readRequest(path, key, json);
    const { rules, failures } = this.#family;
    for (const { rule, refused } of rules) {
      const finding = rule(request, this.#minted);
      if (finding === undefined) continue;
      const failure = refused(finding, request);
      this.exchanged.push({ request, refused: messageOf(failure) });
      return { reply: { type: 'status', failure } };
    }
    if (json.length > this.longest) {
      this.exchanged.push({ request, refused: failures['too long'].says });
      return { reply: { type: 'failure', kind: 'too long' } };
    }
    const reply = this.#next(request);
    this.exchanged.push({ request, reply });
    return { reply, ...(reply.type === 'said' ? { body: this.#body(reply, request) } : {}) };
  }

  #next(request: SentRequest): Reply {
    const entry = this.#script.shift() ?? this.#always;
    if (entry === undefined) this.#unplanned += 1;
    if (typeof entry === 'function') return entry(request);
    return entry ?? { type: 'said', text: 'I have nothing to add.' };
  }

  #body(said: Said, { api, model, key }: SentRequest): string {
    const { dialect, opaque } = this.#family;
    const id = `${this.#minted.length + 1}-${createHash('sha256').update(`${model} ${key}`).digest('hex').slice(0, 12)}`;
    const minted: Minted = {
      model,
      key,
      thought: `I think of step ${this.#minted.length + 1}.`,
      signature: `sig${id}==`,
      forgotten: false,
    };
    this.#minted.push(minted);
    const nextCall = (): number => ++this.#calls;
    if (api === 'responses') return responsesBody(said, { model, minted, nextCall });
    const thinks = opaque !== undefined && said.reasoning === undefined && (said.calls ?? []).length > 0;
    return chatBody(said, { dialect, model, nextCall, ...(thinks ? { opaque: { parts: opaque, minted } } : {}) });
  }
}

/** The readable text of a failure. */
export function messageOf({ body }: Failure): string {
  const one: unknown = Array.isArray(body) ? body[0] : body;
  if (!isJsonObject(one)) return String(one);
  const { error } = one;
  if (isJsonObject(error) && typeof error['message'] === 'string') return error['message'];
  return typeof error === 'string' ? error : typeof one['message'] === 'string' ? one['message'] : JSON.stringify(one);
}

/** The server of all cells. */
export class FakeServer {
  readonly #server = http.createServer((request, response) => void this.#serve(request, response));
  readonly #cells = new Map<string, { provider: CellProvider; family: Family }>();

  /** Starts the server, and has requests of cells answered by it, whatever their URL. Returns the port. */
  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    const { port } = this.#server.address() as AddressInfo;
    const real = globalThis.fetch;
    globalThis.fetch = (input, init) => {
      const url = new URL(input instanceof Request ? input.url : input);
      const headers = new Headers(init?.headers ?? (input instanceof Request ? input.headers : undefined));
      if (!headers.has(CELL_HEADER)) return real(input, init);
      return real(`http://127.0.0.1:${port}${url.pathname}`, init);
    };
  }

  add(id: string, provider: CellProvider, family: Family): void {
    this.#cells.set(id, { provider, family });
  }

  remove(id: string): void {
    this.#cells.delete(id);
  }

  close(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const cell = this.#cells.get(String(request.headers[CELL_HEADER]));
    if (cell === undefined) return void response.writeHead(404).end('no such cell');
    const key = String(request.headers.authorization ?? request.headers['api-key'] ?? '');
    const { reply, body } = cell.provider.answer(request.url ?? '', key, Buffer.concat(pieces).toString('utf8'));
    send(response, cell.family, reply, body);
  }
}

const STREAM = { 'content-type': 'text/event-stream; charset=utf-8' };

function send(response: http.ServerResponse, family: Family, reply: Reply, body = ''): void {
  switch (reply.type) {
    case 'said':
      return sendSaid(response, reply, body);
    case 'failure':
      return sendFailure(response, family.failures[reply.kind]);
    case 'status':
      return sendFailure(response, reply.failure);
    case 'failure in the stream':
      return void response.writeHead(200, STREAM).end(failedStream(family, reply.text, family.failures[reply.kind]));
    case 'broken':
      return void response.socket?.destroy();
    case 'silent':
      return undefined;
  }
}

/** Sends an answer in two pieces that are split within a character, if there is one of several bytes. */
function sendSaid(response: http.ServerResponse, { cutAt, endsAt, dialect }: Said, body: string): void {
  const bytes = Buffer.from(body, 'utf8');
  response.writeHead(200, dialect?.whole === true ? { 'content-type': 'application/json' } : STREAM);
  if (cutAt !== undefined) {
    response.write(bytes.subarray(0, Math.floor(bytes.length * cutAt)), () => response.socket?.destroy());
    return;
  }
  if (endsAt !== undefined) {
    const events = body.split('\n\n');
    response.end(`${events.slice(0, Math.max(1, Math.floor(events.length * endsAt))).join('\n\n')}\n\n`);
    return;
  }
  const wide = bytes.findIndex((byte) => byte >= 0xc0);
  const middle = wide < 0 ? Math.floor(bytes.length / 2) : wide + 1;
  response.write(bytes.subarray(0, middle));
  response.end(bytes.subarray(middle));
}

function sendFailure(response: http.ServerResponse, { status, headers, body }: Failure): void {
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(text);
}

function failedStream(family: Family, text: string | undefined, failure: WordedFailure): string {
  if (family.api === 'responses') {
    return failedResponse(
      text,
      { code: failure.status === 429 ? 'rate_limit_exceeded' : 'server_error', message: failure.says },
      family.model,
    );
  }
  const first =
    text === undefined ? [] : [{ id: 'c1', object: 'chat.completion.chunk', choices: [{ index: 0, delta: { content: text } }] }];
  const body: unknown = Array.isArray(failure.body) ? (failure.body as unknown[])[0] : failure.body;
  const error: object = isJsonObject(body) ? body : { error: String(body) };
  return [...first, error].map(event).join('');
}
