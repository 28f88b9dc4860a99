import { connectTo } from '../../../client/connect.ts';
import { errorMessage } from '../../../core/domain/errors/error.ts';
import type { Handler } from '../../../server/index.ts';
import type { HttpServer } from '../../../server/node/listen.ts';
import { resolveServer } from '../../../temporal/server-address.ts';
import { chosenCodec } from '../../program/codec-choice.ts';
import type { CommandIo, ServerFlags } from '../../program/command.ts';
import type { ServerLocation } from '../../with-client.ts';
import type { AgentsModule } from '../agents-module.ts';
import { serviceClientOptions, serviceHandler } from './agents-over-http.ts';
import { isPortTaken, listenOnceFree } from './listen-once-free.ts';

const HOST = '127.0.0.1';

/** The time for which a worker waits for its port: the worker before it may take a moment to leave it. */
const PORT_WITHIN_MS = 10_000;

/** The HTTP service in the process of a session's worker. */
export interface DevHttp {
  /** The address; undefined if the port could not be had, which the user is told. */
  readonly url: Promise<string | undefined>;
  /** Resolves once the requests under way are answered, and cuts them off after the grace. */
  close(): Promise<void>;
}

/** The parts of the service. */
interface DevHttpOptions {
  flags: ServerFlags & { httpPort: number };
  /** The Temporal server. `startedHere`: it is that of the session. */
  location: ServerLocation & { startedHere: boolean };
  agentsModule: AgentsModule;
  graceMs: number;
}

/**
 * Serves the agents over HTTP on this machine, to everyone who reaches it. With the terminal's signal it gives up its port first: the next
 * worker of the session listens there, and the streams that it cuts come back.
 */
export async function serveDevHttp(io: CommandIo, { flags, location, agentsModule, graceMs }: DevHttpOptions): Promise<DevHttp> {
  const { signal } = io.terminal;
  const { address, namespace, startedHere } = location;
  // TLS settings and keys of the user's profile are for another server, not for one started here.
  const server = startedHere ? { connection: { address }, namespace } : resolveServer({ address, namespace });
  const options = { ...serviceClientOptions(io, flags, agentsModule), codec: chosenCodec(flags, io.terminal.env) };
  const client = await connectTo(server, options);
  const closing = new AbortController();
  const handler = serviceHandler(client, io, { agentsModule, closing: closing.signal });
  const opened = listening(io, handler, flags.httpPort, closing.signal);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => {
    closing.abort();
    closed ??= opened.then((http) => http?.close(graceMs)).then(() => client.close());
    return closed;
  };
  if (signal.aborted) closing.abort();
  else signal.addEventListener('abort', () => void close(), { once: true });
  return { url: opened.then((http) => http?.url), close };
}

/** Listens once the worker before has left the port, or tells the user that it does not. */
async function listening({ output }: CommandIo, handler: Handler, port: number, signal: AbortSignal): Promise<HttpServer | undefined> {
  try {
    return await listenOnceFree(handler, { host: HOST, port, signal, withinMs: PORT_WITHIN_MS });
  } catch (error) {
    const problem = isPortTaken(error)
      ? `port "${port}" is still taken, by the worker before or by another program. End that program, or choose another --http-port`
      : errorMessage(error);
    output.note(`This worker answers no HTTP requests: ${problem}`);
    return undefined;
  }
}
