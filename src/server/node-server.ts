import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import { directHandler, directTextOf, type Handler } from './create-handler.ts';

/** The address to listen on. */
export interface ListenOptions {
  host: string;
  /** 0: any free port. */
  port: number;
}

/** A running HTTP server. */
export interface HttpServer {
  url: string;
  /** Accepts no more connections, waits for requests in progress, and cuts off those that are not answered within the grace period. */
  close(graceMs: number): Promise<void>;
}

/** Milliseconds between two sweeps of idle connections. */
const SWEEP_MS = 50;

/** Serves a handler on a port of this machine. Throws a UsageError for an address that cannot be used. */
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
  // A keep-alive connection would keep the server open after its request is answered.
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
 * Converts a handler to a listener for Node's HTTP server, Express and Fastify. Mount it before anything that reads bodies, at the path
 * of its `prefix`, in a way that does not change the URL of requests.
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
  /** The signals passed to its handler. */
  draining: AbortController;
  closing: AbortController;
  /** How long it continues to serve while not ready, so that proxies notice. */
  drainMs: number;
  /** How long requests in progress may take to end. */
  graceMs: number;
}

/**
 * Shuts a service down. First it reports that it is not ready, and continues to serve. Then it accepts no more connections, cuts streams,
 * answers requests that wait, and resolves once requests in progress have ended.
 */
export async function shutDown({ server, draining, closing, drainMs, graceMs }: EndingService): Promise<void> {
  draining.abort();
  await sleep(drainMs);
  const closed = server.close(graceMs);
  // Not earlier: a reader that is cut reconnects within a second, and would reach this instance again.
  closing.abort();
  await closed;
}
