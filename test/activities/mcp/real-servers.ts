import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, request } from 'node:http';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { until } from '../../server/testbed/until.ts';

const resolve = createRequire(import.meta.url).resolve;

/** The programs of the two servers, for `node`. */
export const EVERYTHING = resolve('@modelcontextprotocol/server-everything/dist/index.js');
export const FILESYSTEM = resolve('@modelcontextprotocol/server-filesystem/dist/index.js');

/** server-everything over HTTP. */
export interface HttpServer {
  readonly url: string;
  /** Ends it at once, and starts it again at the same address, without its sessions. */
  restart(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

/** Starts server-everything on a free port, with the present protocol or the one before. */
export async function httpServer(protocol: 'streamableHttp' | 'sse' = 'streamableHttp'): Promise<HttpServer> {
  const [port = 0] = await freePorts([undefined]);
  let process = await start(port, protocol);
  const stop = async (): Promise<void> => {
    const ended = once(process, 'exit');
    process.kill('SIGKILL');
    await ended;
  };
  return {
    url: `http://127.0.0.1:${port}/${protocol === 'sse' ? 'sse' : 'mcp'}`,
    restart: async () => {
      await stop();
      process = await start(port, protocol);
    },
    [Symbol.asyncDispose]: stop,
  };
}

async function start(port: number, protocol: string): Promise<ReturnType<typeof spawn>> {
  const child = spawn(process.execPath, [EVERYTHING, protocol], { env: { ...process.env, PORT: String(port) }, stdio: 'ignore' });
  await until(
    async () =>
      fetch(`http://127.0.0.1:${port}/mcp`).then(
        () => true,
        () => false,
      ),
    'server-everything',
  );
  return child;
}

/** A proxy before an HTTP server that records the requests. */
export interface RecordingProxy {
  readonly url: string;
  readonly headers: IncomingHttpHeaders[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A proxy for the server at `target`, which refuses requests that are not accepted with 401. */
export async function recordingProxy(
  target: string,
  accepts: (headers: IncomingHttpHeaders) => boolean = () => true,
): Promise<RecordingProxy> {
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((incoming, outgoing) => {
    headers.push(incoming.headers);
    if (!accepts(incoming.headers)) {
      outgoing.writeHead(401, { 'content-type': 'text/plain' }).end('the token is not valid');
      return;
    }
    const onward = request(target, { method: incoming.method, headers: incoming.headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      // An answer that is cut off is cut off here too.
      pipeline(answer, outgoing, () => undefined);
    });
    onward.on('error', () => outgoing.destroy());
    outgoing.on('close', () => onward.destroy());
    incoming.pipe(onward);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`,
    headers,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
