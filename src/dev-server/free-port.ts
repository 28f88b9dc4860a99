import { createServer, type Server } from 'node:net';
import { errorMessage } from '../core/domain/errors/error.ts';
import { DevServerError } from './dev-server-error.ts';
import { SERVER_IP } from './start-flags.ts';

/**
 * Ports that nobody listens on, one for each wish: a number is checked, `undefined` gets any. Throws a `DevServerError`
 * for a number that is taken: a server of ours would fail there, and the one that has the port would be taken for it.
 */
export async function freePorts(wishes: readonly (number | undefined)[]): Promise<number[]> {
  const held: Server[] = [];
  try {
    // All are held until the last is chosen, so that no port is chosen twice.
    for (const wish of wishes) held.push(await hold(wish));
    return held.map(portOf);
  } finally {
    await Promise.all(held.map((server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** The port that a listening server got. */
export function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string')
    throw new DevServerError('A port was asked of a server that does not listen on one.');
  return address.port;
}

async function hold(port: number | undefined): Promise<Server> {
  const server = createServer();
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) =>
      reject(
        new DevServerError(`Port "${port ?? 0}" cannot be used: ${errorMessage(error)}. Choose another, or end what uses it.`, {
          cause: error,
        }),
      ),
    );
    server.listen({ host: SERVER_IP, port: port ?? 0 }, resolve);
  });
  return server;
}
