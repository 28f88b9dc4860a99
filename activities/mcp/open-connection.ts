import type { Stream } from 'node:stream';
import { ReadBuffer, SSEClientTransport, StreamableHTTPClientTransport } from '@modelcontextprotocol/client';
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { defined, isJsonObject } from '../../src/core/domain/json.ts';
import type { McpServerDefinition, McpTransport, McpValue } from '../../src/define/tool-definition.ts';
import type { ReadSecret } from '../../src/define/resources.ts';
import { isRenewed, type SecretVault } from '../secret-vault.ts';
import { connectProblem, failAtStreamEnd, statusOf } from './call-outcome.ts';
import { type Link, McpConnection, ServerMessages } from './mcp-connection.ts';
import { isTooLarge, MAX_MESSAGE_BYTES, MessageText, tooLargeError } from './message-text.ts';

/** The parts of a worker that opening a connection needs. */
interface OpenOptions extends LinkOptions {
  log: (line: string) => void;
}

/**
 * Connects to a server. An HTTP server that refuses the current protocol in the way of older servers is reached by the older one (HTTP with
 * server-sent events). Throws `mcp_unreachable` with its name, without any text from the server or a secret: its process's output is
 * written to the worker's log.
 */
export async function openConnection(server: McpServerDefinition, options: OpenOptions, stop: AbortSignal): Promise<McpConnection> {
  const { name, transport } = server;
  const isOlder = transport.type === 'http' && transport.protocol === 'sse';
  const link = await makeLink(server, options, isOlder ? 'sse' : 'http');
  try {
    return await McpConnection.open(link, stop);
  } catch (error) {
    for (const line of link.stderrLines()) options.log(`MCP server "${name}" has written: ${line}`);
    if (transport.type === 'http' && transport.protocol === undefined && isRefusedProtocol(error)) {
      const older = await openOlder(server, options, stop);
      if (older !== undefined) return older;
    }
    if (isTooLarge(error)) throw greetsTooLong(name);
    const check = transport.type === 'http' ? 'its "url" and "headers"' : `its "command" and "args", and the log of the worker`;
    throw unreachable(`MCP server "${name}" cannot be reached: ${problemWith(transport, error)}. Check ${check}`);
  }
}

/** Describes why a server cannot be reached. A program that cannot be started is named: its system error does not say which file is absent. */
function problemWith(transport: McpTransport, error: unknown): string {
  const problem = connectProblem(error);
  if (transport.type === 'http' || !CANNOT_START.has(problem)) return problem;
  const { command, cwd } = transport;
  return `its program "${command}" could not be started${cwd === undefined ? '' : ` in the folder "${cwd}"`} (${problem})`;
}

/** The codes of the system for a program that it cannot start. */
const CANNOT_START: ReadonlySet<string> = new Set(['ENOENT', 'EACCES', 'EPERM', 'ENOTDIR']);

/** Connects by the older protocol; undefined if the server does not speak it either. */
async function openOlder(server: McpServerDefinition, options: OpenOptions, stop: AbortSignal): Promise<McpConnection | undefined> {
  const link = await makeLink(server, options, 'sse');
  try {
    return await McpConnection.open(link, stop);
  } catch (error) {
    if (stop.aborted) throw error;
    const status = statusOf(error);
    // The address answers with something other than events, unless it refuses this caller.
    if ((status !== undefined && status !== 401 && status !== 403) || connectProblem(error) === 'SseError') return undefined;
    if (isTooLarge(error)) throw greetsTooLong(server.name);
    throw unreachable(
      `MCP server "${server.name}" cannot be reached: it refuses streamable HTTP, and the connection by the older protocol (HTTP with server-sent events) failed: ${connectProblem(error)}. Check its "url" and "headers"`,
    );
  }
}

/** Returns the error of a server whose answer to the first request is too large. */
function greetsTooLong(name: string): LonghaulError {
  return unreachable(
    `MCP server "${name}" cannot be reached: it answers "initialize" with a message of more than 10 MB, the most that one may have. ` +
      'Let it have shorter instructions and fewer capabilities',
  );
}

/** Returns an error without a stack: where the worker has tried to connect helps nobody, and each attempt would log it. */
function unreachable(message: string): LonghaulError {
  const error = new LonghaulError('mcp_unreachable', message);
  error.stack = '';
  return error;
}

/** True if a server refuses the first request of the current protocol in the way that the protocol describes for older servers. */
function isRefusedProtocol(error: unknown): boolean {
  return [400, 404, 405, 415, 406, 501].includes(statusOf(error) ?? 0);
}

/** The parts of a worker that a connection needs. */
interface LinkOptions {
  secrets: Pick<SecretVault, 'reader' | 'redact'>;
}

/** A link to a server, and its output outside the protocol. */
interface ServerLink extends Link {
  /** Returns the last lines of its process's standard error, cleaned and redacted; none for a server over HTTP. */
  stderrLines: () => string[];
}

/** The protocol of an HTTP server: the current one, or its predecessor. */
type HttpProtocol = 'http' | 'sse';

/** Creates a link to a server, reading its secrets again. Throws the vault's errors, and `mcp_unreachable` for an invalid header. */
async function makeLink(
  { name, transport }: McpServerDefinition,
  options: LinkOptions,
  protocol: HttpProtocol = 'http',
): Promise<ServerLink> {
  return transport.type === 'http' ? httpLink(name, transport, { ...options, protocol }) : stdioLink(transport, options);
}

async function httpLink(
  name: string,
  { url, headers }: McpTransport & { type: 'http' },
  { secrets, protocol }: LinkOptions & { protocol: HttpProtocol },
): Promise<ServerLink> {
  const read = secrets.reader();
  const resolve = async (): Promise<Record<string, string>> => allowedHeaders(name, await resolveAll(headers, read));
  const messages = new ServerMessages();
  const resolved = await resolve();
  const init = { requestInit: { headers: resolved }, fetch: serverFetch(messages, freshHeadersFetch(resolved, { read, resolve })) };
  if (protocol === 'sse') {
    const transport = new SSEClientTransport(new URL(url), init);
    messages.follow(transport);
    return { transport, isLegacy: true, stderrLines: () => [] };
  }
  const transport = new StreamableHTTPClientTransport(new URL(url), init);
  messages.follow(transport);
  failAtStreamEnd(transport);
  return { transport, end: () => transport.terminateSession(), stderrLines: () => [] };
}

/** Returns the headers. Throws `mcp_unreachable` for a value that HTTP does not allow: the platform's own error would quote it. */
function allowedHeaders(name: string, headers: Record<string, string>): Record<string, string> {
  const bad = Object.keys(headers).find((header) => /[^\t\x20-\x7e\x80-\xff]/.test(headers[header] ?? ''));
  if (bad === undefined) return headers;
  throw new LonghaulError(
    'mcp_unreachable',
    `MCP server "${name}" cannot be reached: the value of the header "${bad}" has characters that HTTP does not allow. Change its secret`,
  );
}

/** Reads the headers of a server. */
interface HeaderReads {
  read: ReadSecret;
  resolve: () => Promise<Record<string, string>>;
}

/**
 * Returns a `fetch` that reads the secrets of a server's headers again if a request is refused with 401. If one has changed, it sends the request
 * once more, and uses the new headers from then on. The server has done nothing for a request that it has refused.
 */
function freshHeadersFetch(given: Record<string, string>, { read, resolve }: HeaderReads): typeof fetch {
  let current = given;
  const send = (url: string | URL | Request, init: RequestInit | undefined): Promise<Response> => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(current)) headers.set(name, value);
    return fetch(url, { ...init, headers });
  };
  return async (url, init) => {
    const sent = current;
    const response = await send(url, init);
    if (response.status !== 401) return response;
    // Another request may have read them meanwhile.
    if (current === sent) {
      if (!(await isRenewed(read))) return response;
      current = await resolve();
    }
    await response.body?.cancel();
    return send(url, init);
  };
}

async function stdioLink({ command, args, env, cwd }: McpTransport & { type: 'stdio' }, { secrets }: LinkOptions): Promise<ServerLink> {
  const transport = new StdioClientTransport({
    command,
    args: [...args],
    // The client adds the few variables that any program needs, and no others from the worker.
    env: await resolveAll(env, secrets.reader()),
    ...defined({ cwd }),
    stderr: 'pipe',
    // The size of a message is bounded where its line is read, because the package's bound ends the connection, also for other calls.
    maxBufferSize: Number.POSITIVE_INFINITY,
  });
  const messages = new ServerMessages();
  messages.follow(transport);
  readLines(transport, messages);
  return { transport, stderrLines: stderrTail(transport.stderr, (text) => secrets.redact(text)) };
}

/**
 * Reads each line of a process before the client package does. The package's process transport does not allow this, and only its buffer
 * sees the text.
 */
function readLines(transport: StdioClientTransport, messages: Pick<ServerMessages, 'read'>): void {
  const buffer: unknown = Reflect.get(transport, '_readBuffer');
  if (!(buffer instanceof ReadBuffer)) throw new TypeError('The client package has no buffer of lines: its version has changed');
  const append = buffer.append.bind(buffer);
  const decoder = new TextDecoder();
  const line = new MessageText();
  const endLine = (): string => {
    const text = line.take();
    return text.trim() === '' ? '' : messages.read(text);
  };
  buffer.append = (chunk) => {
    const [rest = '', ...lines] = decoder.decode(chunk, { stream: true }).split('\n');
    line.add(rest);
    if (lines.length === 0) return;
    const ended = lines.map((next) => {
      const text = endLine();
      line.add(next);
      return `${text}\n`;
    });
    append(Buffer.from(ended.join('')));
  };
}

async function resolveAll(values: Readonly<Record<string, McpValue>>, read: ReadSecret): Promise<Record<string, string>> {
  const entries = Object.entries(values).map(async ([name, value]): Promise<[string, string]> => [
    name,
    typeof value === 'string' ? value : await read(value),
  ]);
  return Object.fromEntries(await Promise.all(entries));
}

const MAX_LINES = 10;
const MAX_LINE = 500;

/**
 * Reads the standard error of a server, so that its process never blocks, and returns a function that gives its last lines as printable
 * text.
 */
export function stderrTail(stream: Stream | null, redact: (text: string) => string): () => string[] {
  let tail = '';
  stream?.on('data', (chunk: unknown) => {
    tail += String(chunk);
    if (tail.length <= MAX_LINES * MAX_LINE) return;
    // Only whole lines are kept: part of a secret would not be found.
    const kept = tail.slice(-MAX_LINES * MAX_LINE);
    tail = kept.slice(kept.indexOf('\n') + 1 || kept.length);
  });
  stream?.on('error', () => undefined);
  return () =>
    redact(tail)
      .split('\n')
      .map((line) =>
        line
          .replaceAll(/\p{C}+/gu, ' ')
          .trim()
          .slice(0, MAX_LINE),
      )
      .filter((line) => line !== '')
      .slice(-MAX_LINES);
}

/**
 * Returns a `fetch` for a server: messages are read before the client package sees them, and the size of an answer, or of each event of an
 * event stream, is bounded. A larger answer to a request is replaced by an error; anything else that is larger is aborted.
 */
export function serverFetch(
  messages: Pick<ServerMessages, 'read'>,
  send: typeof fetch = fetch,
): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init) => {
    const response = await send(url, init);
    const { status, statusText, body } = response;
    if (body === null) return response;
    const isStream = response.headers.get('content-type')?.trim().toLowerCase().startsWith('text/event-stream') === true;
    // The rewritten text and its length differ from the server's.
    const headers = new Headers(response.headers);
    headers.delete('content-length');
    headers.delete('content-encoding');
    const id = init === undefined ? undefined : requestIn(init);
    if (isStream)
      return new Response(
        body.pipeThrough(new TextDecoderStream()).pipeThrough(eventLines(messages, id)).pipeThrough(new TextEncoderStream()),
        { status, statusText, headers },
      );
    if (!response.ok || init?.method !== 'POST') return new Response(body.pipeThrough(limitSize()), { status, statusText, headers });
    const given = await messageIn(body, id);
    const text = given.trim() === '' ? given : messages.read(given, id);
    if (isMessage(text)) headers.set('content-type', 'application/json');
    return new Response(text, { status, statusText, headers });
  };
}

/** Returns the text of an answer that is one message. `id`: the request that it answers. */
async function messageIn(body: ReadableStream<Uint8Array<ArrayBuffer>>, id: string | number | undefined): Promise<string> {
  const text = new MessageText();
  for await (const piece of body.pipeThrough(new TextDecoderStream())) {
    text.add(piece);
    // This also ends an answer without end.
    if (text.isTooLarge) break;
  }
  return text.take(id);
}

/** True for the JSON of a message, which some servers send with another content type. */
function isMessage(text: string): boolean {
  return text.startsWith('{"jsonrpc"') || text.startsWith('[{"jsonrpc"');
}

/** Returns the id of the request that a POST carries. */
function requestIn({ body }: RequestInit): string | number | undefined {
  if (typeof body !== 'string') return undefined;
  const message: unknown = JSON.parse(body);
  const id = isJsonObject(message) ? message['id'] : undefined;
  return typeof id === 'string' || typeof id === 'number' ? id : undefined;
}

/**
 * Rewrites the data of the events of a stream. Reads each piece once, regardless of the length of the line. `id`: the request that the
 * stream answers, if it belongs to one.
 */
function eventLines(messages: Pick<ServerMessages, 'read'>, id: string | number | undefined): TransformStream<string, string> {
  const line = new MessageText();
  let event: string[] = [];
  let endsWithReturn = false;
  const endLine = (controller: TransformStreamDefaultController<string>): void => {
    const { isEmpty } = line;
    const text = line.take(id);
    if (!isEmpty) {
      if (text !== '') event.push(text);
      if (event.reduce((sum, one) => sum + one.length, 0) > MAX_MESSAGE_BYTES) throw tooLargeError();
      return;
    }
    if (event.length > 0) controller.enqueue(`${readEvent(event, messages).join('\n')}\n\n`);
    event = [];
  };
  return new TransformStream({
    transform(chunk, controller) {
      const text = endsWithReturn && chunk.startsWith('\n') ? chunk.slice(1) : chunk;
      endsWithReturn = chunk.endsWith('\r');
      const parts = text.split(/\r\n|\n|\r/);
      parts.forEach((part, index) => {
        line.add(part);
        if (index < parts.length - 1) endLine(controller);
      });
    },
    // Some servers leave out the blank line after the last event.
    flush(controller) {
      if (!line.isEmpty) endLine(controller);
      if (event.length > 0) endLine(controller);
    },
  });
}

function readEvent(lines: readonly string[], messages: Pick<ServerMessages, 'read'>): string[] {
  const isData = (line: string): boolean => line === 'data' || line.startsWith('data:');
  const kind = lines
    .findLast((line) => line.startsWith('event:'))
    ?.slice('event:'.length)
    .trim();
  const data = lines.filter(isData).map((line) => line.slice('data:'.length).replace(/^ /, ''));
  if (data.length === 0 || (kind !== undefined && kind !== '' && kind !== 'message')) return [...lines];
  return [
    ...lines.filter((line) => !isData(line)),
    ...messages
      .read(data.join('\n'))
      .split('\n')
      .map((line) => `data: ${line}`),
  ];
}

function limitSize(): TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>> {
  let bytes = 0;
  return new TransformStream({
    transform(chunk, controller) {
      bytes += chunk.length;
      if (bytes > MAX_MESSAGE_BYTES) controller.error(tooLargeError());
      else controller.enqueue(chunk);
    },
  });
}
