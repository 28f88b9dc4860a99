import { once } from 'node:events';
import { createServer, request, type IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';
import { pipeline } from 'node:stream';

/** A proxy before an HTTP server that records the requests. */
export interface RecordingProxy {
  readonly url: string;
  readonly headers: IncomingHttpHeaders[];
  [Symbol.asyncDispose](): Promise<void>;
}

/** A proxy for the server at `target`. */
export async function recordingProxy(target: string): Promise<RecordingProxy> {
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((incoming, outgoing) => {
    headers.push(incoming.headers);
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
