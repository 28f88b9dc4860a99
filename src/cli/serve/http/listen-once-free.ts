import type { Handler } from '../../../server/index.ts';
import { type HttpServer, listen, type ListenOptions } from '../../../server/node/listen.ts';
import { sleep } from '../../../temporal/waiting.ts';

/** The pause between two attempts, in milliseconds. */
const PAUSE_MS = 50;

/**
 * Listens as soon as the port is free. Rejects if it is still taken after that time. Resolves without a server once the signal is aborted.
 */
export async function listenOnceFree(
  handler: Handler,
  { signal, withinMs, ...options }: ListenOptions & { signal: AbortSignal; withinMs: number },
): Promise<HttpServer | undefined> {
  const deadline = performance.now() + withinMs;
  while (!signal.aborted) {
    try {
      return await listen(handler, options);
    } catch (error) {
      if (!isPortTaken(error) || performance.now() > deadline) throw error;
    }
    await sleep(PAUSE_MS);
  }
  return undefined;
}

/** True for the error of a port at which another program listens. */
export function isPortTaken(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE';
}
