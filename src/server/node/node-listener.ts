import { getRequestListener } from '@hono/node-server';
import { RESPONSE_ALREADY_SENT } from '@hono/node-server/utils/response';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler } from '../handler.ts';
import { directHandler, directTextOf } from './direct-text.ts';

/** Answers a request of Node's HTTP server. */
export type NodeListener = (request: IncomingMessage, response: ServerResponse) => void;

/**
 * Returns a handler as Node's HTTP server, Express and Fastify take it. Mount it before anything that reads bodies, at the path of its
 * `prefix`, in a way that leaves the URL of requests as it is.
 *
 * @example
 * express().all('/api/*path', nodeListener(createHandler(client, { prefix: '/api' })));
 */
export function nodeListener(handler: Handler): NodeListener {
  const answer = directHandler(handler);
  const listener = getRequestListener(
    async (request, environment) => {
      const response = await answer(request, environment);
      const text = directTextOf(response);
      if (text === undefined) return response;
      // The response of HTTP/2 has the same methods.
      write(environment.outgoing as ServerResponse, response, text);
      return RESPONSE_ALREADY_SENT;
    },
    { overrideGlobalObjects: false },
  );
  return (request, response) => void listener(request, response);
}

function write(outgoing: ServerResponse, response: Response, text: string): void {
  outgoing.writeHead(response.status, { ...Object.fromEntries(response.headers), 'content-length': Buffer.byteLength(text) });
  outgoing.end(text);
}
