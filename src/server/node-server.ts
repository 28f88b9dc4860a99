import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import { directHandler, directTextOf, type Handler } from './create-handler.ts';

/** The address to listen on. */
export interface ListenOptions {
  host: string;
  /** 0: a free one. */
  port: number;
}

/** A handler behind a port. */
export interface HttpServer {
  url: string;
  /** Takes no more connections, waits for the requests that are under way, and cuts off those that are not answered within the grace. */
  close(graceMs: number): Promise<void>;
}

/** The time between two looks for connections without a request, in milliseconds. */
const SWEEP_MS = 50;

/** Answers HTTP requests by a handler, on a port of this machine. Throws a UsageError for an address that cannot be used. */
export async function listen(handler: Handler, { host, port }: ListenOptions): Promise<HttpServer> {
  const server = createServer(nodeListener(handler));
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new UsageError(`The service cannot listen on "${host}:${port}": ${errorMessage(cause)}. Choose another --port`, { cause })),
    );
    server.listen(port, host, resolve);
  });
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return { url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}`, close: (graceMs) => close(server, graceMs) };
}

async function close(server: Server, graceMs: number): Promise<void> {
  // A connection that is kept alive would keep the server open once its request is answered.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  const cutOff = setTimeout(() => server.closeAllConnections(), graceMs);
  try {
    await new Promise<void>((resolve) => server.close(() => resolve()));
  } finally {
    clearInterval(sweep);
    clearTimeout(cutOff);
  }
}

/** Answers a request of Node's HTTP server. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Returns a handler as Node's HTTP server, Express and Fastify take it. Mount it before anything that reads bodies, at the path of its
 * `prefix`, in a way that leaves the URL of requests as it is.
 *
 * @example
 * express().all('/api/*path', nodeListener(createHandler(client, { prefix: '/api' })));
 */
export function nodeListener(handler: Handler): NodeListener {
  const answer = directHandler(handler);
  const listener = getRequestListener(
    async (request, environment) => {
      const response = await answer(request, environment);
      const text = directTextOf(response);
      if (text === undefined) return response;
      // The response of HTTP/2 has the same methods.
      const outgoing = environment.outgoing as ServerResponse;
      outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), 'content-length': Buffer.byteLength(text) }).end(text);
      return RESPONSE_ALREADY_SENT;
    },
    { overrideGlobalObjects: false },
  );
  return (request, response) => void listener(request, response);
}

export interface EndingService {
  server: Pick<HttpServer, 'close'>;
  /** The signals that its handler was given. */
  draining: AbortController;
  closing: AbortController;
  /** The time for which it continues while it is not ready, so that proxies notice. */
  drainMs: number;
  /** The time that requests under way may take to end. */
  graceMs: number;
}

/**
 * Ends a service: it is not ready at first, and serves on. Then it takes no more connections, cuts streams, answers requests that wait, and
 * resolves once those under way have ended.
 */
export async function shutDown({ server, draining, closing, drainMs, graceMs }: EndingService): Promise<void> {
  draining.abort();
  await sleep(drainMs);
  const closed = server.close(graceMs);
  // Not before: a reader that is cut comes back within a second, and would find this instance again.
  closing.abort();
  await closed;
}
