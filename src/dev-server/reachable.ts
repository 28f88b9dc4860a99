import { connect } from 'node:net';

const DEFAULT_PORT = 7233;

/**
 * True if a server accepts connections at `host:port` (or at a URL; the port defaults to 7233) within the time limit.
 */
export async function isReachable(address: string, timeoutMs: number, signal?: AbortSignal): Promise<boolean> {
  const url = parse(address);
  if (url === null) return false;
  const host = url.hostname.replace(/^\[|\]$/g, '');
  const port = url.port === '' ? DEFAULT_PORT : Number(url.port);
  return await new Promise((resolve) => {
    const socket = connect({ host, port, timeout: timeoutMs });
    const answer = (reachable: boolean): void => {
      signal?.removeEventListener('abort', giveUp);
      socket.destroy();
      resolve(reachable);
    };
    const giveUp = (): void => answer(false);
    signal?.addEventListener('abort', giveUp);
    socket
      .once('connect', () => answer(true))
      .once('error', giveUp)
      .once('timeout', giveUp);
  });
}

function parse(address: string): URL | null {
  return URL.parse(address.includes('://') ? address : `grpc://${address}`);
}
