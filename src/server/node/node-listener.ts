import { getRequestListener } from '@hono/node-server';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Handler } from '../create-handler.ts';

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
  const listener = getRequestListener(handler, { overrideGlobalObjects: false });
  return (request, response) => void listener(request, response);
}
