import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request as the server received it. */
export interface RecordedRequest {
  path: string;
  headers: IncomingHttpHeaders;
  /** The body, byte for byte. */
  text: string;
  body: Record<string, unknown>;
  /** Resolves once the client's connection is closed. */
  closed: Promise<void>;
}

/** The functions that a handler answers with. */
export interface Reply {
  json(status: number, body: unknown, headers?: Record<string, string>): void;
  text(status: number, body: string, headers?: Record<string, string>): void;
  /** Sends a status and the beginning of a JSON body, and no more. */
  unfinished(status: number, body: string): void;
  /** Sends each value as one server-sent event. Leaves the stream open. */
  events(...values: unknown[]): void;
  /** Sends raw bytes of a stream of server-sent events. */
  raw(text: string): void;
  /** Ends the body without an error. */
  end(): void;
  /** Resets the connection. */
  reset(): void;
}

/** Answers one request. A handler that does nothing is a server that never answers. */
export type Handler = (reply: Reply, request: RecordedRequest) => void | Promise<void>;

/** A server on loopback that answers according to a script, with one handler per request; the last one repeats. */
export interface FakeOpenAI {
  /** The `baseURL` for a client. */
  url: string;
  requests: RecordedRequest[];
  /** The number of connections so far. */
  connections(): number;
  /** Replaces the rest of the script. */
  script(...handlers: Handler[]): void;
  close(): Promise<void>;
}

/** Starts the server on a free port. */
export async function startFakeOpenAI(...script: Handler[]): Promise<FakeOpenAI> {
  const requests: RecordedRequest[] = [];
  let handlers = script;
  const answer = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const request = await record(incoming);
    requests.push(request);
    const handler = handlers.length > 1 ? handlers.shift() : handlers[0];
    if (handler === undefined) outgoing.writeHead(500).end('the fake server has no script');
    else await handler(replyWith(outgoing), request);
  };
  const server = createServer((incoming, outgoing) => {
    // An error of the script becomes an answer that no test expects.
    answer(incoming, outgoing).catch((error: unknown) => outgoing.writeHead(500).end(String(error)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  let connections = 0;
  server.on('connection', () => (connections += 1));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/v1`,
    requests,
    connections: () => connections,
    script: (...next) => {
      handlers = next;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

const closings = new WeakMap<Socket, Promise<void>>();

/** Adds one listener per connection, however many requests it serves. */
function closingOf(socket: Socket): Promise<void> {
  const known = closings.get(socket);
  if (known !== undefined) return known;
  const closing = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  closings.set(socket, closing);
  return closing;
}

async function record(incoming: IncomingMessage): Promise<RecordedRequest> {
  const closed = closingOf(incoming.socket);
  let text = '';
  for await (const chunk of incoming.setEncoding('utf8')) text += String(chunk);
  const body = JSON.parse(text || '{}') as Record<string, unknown>;
  return { path: incoming.url ?? '', headers: incoming.headers, text, body, closed };
}

function replyWith(outgoing: ServerResponse): Reply {
  const stream = (text: string): void => {
    if (!outgoing.headersSent) outgoing.writeHead(200, { 'content-type': 'text/event-stream' });
    outgoing.write(text);
  };
  return {
    json: (status, body, headers = {}) => {
      outgoing.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
    },
    text: (status, body, headers = {}) => {
      outgoing.writeHead(status, { 'content-type': 'text/plain', ...headers }).end(body);
    },
    unfinished: (status, body) => {
      outgoing.writeHead(status, { 'content-type': 'application/json' }).write(body);
    },
    events: (...values) => stream(values.map((value) => `data: ${JSON.stringify(value)}\n\n`).join('')),
    raw: stream,
    end: () => {
      outgoing.end();
    },
    reset: () => {
      outgoing.socket?.resetAndDestroy();
    },
  };
}
