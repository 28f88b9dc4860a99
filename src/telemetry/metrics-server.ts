import { createServer, type ServerResponse } from 'node:http';
import { errorMessage, UsageError } from '../core/domain/errors.ts';
import type { PrometheusMetrics } from './prometheus.ts';

/** The health of a worker, as `worker.health()` returns it. */
export interface ServedHealth {
  /** True if the worker polls and none of its resources has failed. */
  readonly ready: boolean;
  /** Everything else, which is only shown. */
  readonly [part: string]: unknown;
}

/** Options of a server of a metrics page. */
export interface ServeMetricsOptions {
  /** Default `127.0.0.1`. */
  host?: string;
  /** Default 9464. */
  port?: number;
  /** Returns the health of the worker, for `GET /readyz` and `GET /healthz`: `() => worker.health()`. Absent: there are no such pages. */
  health?: () => ServedHealth | Promise<ServedHealth>;
}

/** A running server of a metrics page. */
export interface MetricsServer {
  /** The address of the page. */
  url: string;
  /** Ends the server. */
  close(): Promise<void>;
}

/**
 * Answers `GET /metrics` with a page for Prometheus. With `health`, also answers `GET /readyz` with the health as JSON (200 if the worker is ready,
 * otherwise 503), and `GET /healthz` with 200 as long as the process answers. It has no authentication, so it listens only on this
 * machine unless another address is given, and does not keep the process running. Throws a UsageError for an address that cannot be used.
 */
export async function serveMetrics(
  page: PrometheusMetrics,
  { host = '127.0.0.1', port = 9464, health }: ServeMetricsOptions = {},
): Promise<MetricsServer> {
  const server = createServer(({ method, url = '' }, response) => {
    const path = method === 'GET' || method === 'HEAD' ? url.split('?')[0] : undefined;
    if (path === '/metrics') response.setHeader('content-type', page.contentType).end(page.text());
    else if (health !== undefined && path === '/readyz') void answerHealth(response, health);
    // Asks nothing: a resource that does not answer is no reason to end the process.
    else if (health !== undefined && path === '/healthz') response.setHeader('content-type', 'text/plain').end('ok\n');
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

async function answerHealth(response: ServerResponse, health: NonNullable<ServeMetricsOptions['health']>): Promise<void> {
  const found = await Promise.resolve()
    .then(health)
    .catch((error: unknown) => ({ ready: false, message: errorMessage(error) }));
  response
    .writeHead(found.ready ? 200 : 503, { 'content-type': 'application/json', 'cache-control': 'no-store' })
    .end(`${JSON.stringify(found)}\n`);
}
