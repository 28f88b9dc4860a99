import { createServer } from 'node:http';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import type { PrometheusMetrics } from './prometheus.ts';

/** A running server of a metrics page. */
export interface MetricsServer {
  /** The address of the page. */
  url: string;
  /** Ends the server. */
  close(): Promise<void>;
}

/**
 * Answers `GET /metrics` with a page for Prometheus. It has no authentication, so it listens only on this machine unless another address
 * is given, and does not keep the process running. Throws a UsageError for an address that cannot be used.
 */
export async function serveMetrics(page: PrometheusMetrics, { host = '127.0.0.1', port = 9464 } = {}): Promise<MetricsServer> {
  const server = createServer(({ method, url = '' }, response) => {
    const isPage = url.split('?')[0] === '/metrics' && (method === 'GET' || method === 'HEAD');
    if (isPage) response.setHeader('content-type', page.contentType).end(page.text());
    else response.writeHead(404, { 'content-type': 'text/plain' }).end('The metrics are at GET /metrics\n');
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause) =>
      reject(new UsageError(`The metrics cannot be served at "${host}:${port}": ${errorMessage(cause)}. Choose another port`, { cause })),
    );
    server.listen(port, host, resolve);
  });
  server.unref();
  const address = server.address();
  const bound = typeof address === 'object' && address !== null ? address.port : port;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${bound}/metrics`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
