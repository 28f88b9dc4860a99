import { freePorts } from '../../src/dev-server/start-flags.ts';

/** Below the ports that the system assigns, so that no other process gets the port between death and restart. */
const FIRST_PORT = 17_100;
const LAST_PORT = 18_900;

let nextPort = FIRST_PORT + (process.pid % 100) * 10;

/** Returns a port for a process that is killed and started again. */
export async function unusedPort(): Promise<number> {
  while (nextPort < LAST_PORT) {
    const port = nextPort++;
    try {
      await freePorts([port]);
      return port;
    } catch {
      // Another process has the port.
    }
  }
  throw new Error(`All ports up to ${LAST_PORT} are taken`);
}
