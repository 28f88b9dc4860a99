import { setTimeout as sleep } from 'node:timers/promises';
import type { HttpServer } from './listen.ts';

/** A service that is to end. */
export interface EndingService {
  server: Pick<HttpServer, 'close'>;
  /** The signals that its handler was given. */
  draining: AbortController;
  closing: AbortController;
  /** The time for which it goes on while it is not ready, so that proxies notice. */
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
