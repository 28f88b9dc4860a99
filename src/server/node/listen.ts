import { createServer, type Server } from 'node:http';
import { errorMessage, UsageError } from '../../core/domain/errors.ts';
import type { Handler } from '../handler.ts';
import { nodeListener } from './node-listener.ts';

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
