import express from 'express';
import fastify from 'fastify';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, test } from 'vitest';
import { createHandler, nodeListener, type NodeListener } from '../../../src/server/index.ts';
import { clientWithRun } from '../requests.ts';

/** A server, at its address. */
interface Served {
  url: string;
  [Symbol.asyncDispose](): Promise<void>;
}

async function onPort(server: Server): Promise<Served> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** The ways the service is mounted below `/api`, next to a route of the framework at `/own`. */
const FRAMEWORKS: Record<string, (listener: NodeListener) => Promise<Served>> = {
  Express: async (listener) => {
    const app = express();
    app.all('/api/*path', listener);
    app.use(express.json());
    app.post('/own', (request, response) => void response.json(request.body));
    return onPort(createServer(app));
  },
  Fastify: async (listener) => {
    const app = fastify();
    await app.register(async (scope) => {
      // The service reads bodies itself.
      scope.removeAllContentTypeParsers();
      scope.addContentTypeParser('*', (_request, _payload, done) => done(null));
      scope.all('/api/*', (request, reply) => {
        reply.hijack();
        listener(request.raw, reply.raw);
      });
    });
    app.post('/own', async ({ body }) => body);
    const url = await app.listen({ port: 0, host: '127.0.0.1' });
    return { url, [Symbol.asyncDispose]: () => app.close() };
  },
};

describe.each(Object.entries(FRAMEWORKS))('mounted in %s', (_, mount) => {
  test('the service answers below its prefix, and the framework elsewhere', async () => {
    const paused: string[] = [];
    const lines = async function* () {
      yield { type: 'run' };
      yield { type: 'summary' };
    };
    const methods = { export: () => lines() };
    const handle = (runId: string) => ({ ...methods, pause: async () => (paused.push(runId), { version: 1, paused: true }) });
    const client = clientWithRun({}, { handle, start: async () => ({ runId: 'a/ü' }) });
    await using service = await mount(nodeListener(createHandler(client, { prefix: '/api' })));
    const post = (path: string, body: string, type = 'application/json') =>
      fetch(`${service.url}${path}`, { method: 'POST', body, headers: { 'content-type': type } });

    const started = await post('/api/v1/runs', JSON.stringify({ agent: 'clerk', input: 'Q' }));
    expect([started.status, started.headers.get('location')]).toEqual([201, '/api/v1/runs/a%2F%C3%BC']);
    expect((await post(`${started.headers.get('location')}/pause`, '{}')).status).toBe(200);
    expect(paused).toEqual(['a/ü']);
    expect(await (await fetch(`${service.url}/api/v1/runs/r/export`)).text()).toBe('{"type":"run"}\n{"type":"summary"}\n');
    expect((await post('/api/v1/runs', '{')).status).toBe(400);
    expect((await post('/api/v1/runs', '{}', 'text/plain')).status).toBe(415);
    expect((await post('/api/v1/runs', ' '.repeat(1_000_001))).status).toBe(413);
    expect((await fetch(`${service.url}/api/v1/nothing`)).headers.get('content-type')).toBe('application/problem+json');
    expect(await (await post('/own', '{"mine":true}')).json()).toEqual({ mine: true });
    expect((await fetch(`${service.url}/v1/runs`)).status).toBe(404);
  });
});
