import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { createHandler, type Handler, nodeListener } from '../../../src/server/index.ts';
import { clientWithRun } from '../requests.ts';

const handler = createHandler(clientWithRun({ status: async () => ({ version: 1, name: 'Zoë' }) }), {
  cors: { origins: ['https://app.example'] },
});

/** Sends a request to a handler behind a socket. */
async function sent(handled: Handler, path: string, init: RequestInit = {}): Promise<Response> {
  const listener = nodeListener(handled);
  const server = createServer((request, response) => {
    response.setHeader('x-framework', 'mine');
    listener(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`, init);
    return new Response(await response.arrayBuffer(), response);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test('a response over a socket has the body and the headers that the handler gives', async () => {
  const origin = { origin: 'https://app.example' };
  const direct = await handler(new Request('http://127.0.0.1/v1/runs/r', { headers: { host: '127.0.0.1', ...origin } }));
  const response = await sent(handler, '/v1/runs/r', { headers: origin });
  const text = await response.text();
  expect({ status: response.status, text }).toEqual({ status: 200, text: await direct.text() });
  expect(text).toContain('Zoë');
  expect(Object.fromEntries(response.headers)).toMatchObject({
    ...Object.fromEntries(direct.headers),
    'content-length': String(Buffer.byteLength(text)),
    'x-framework': 'mine',
  });
});

test('the response to HEAD over a socket has no body', async () => {
  const response = await sent(handler, '/v1/runs/r', { method: 'HEAD' });
  expect([response.status, response.headers.get('content-type'), await response.text()]).toEqual([200, 'application/json', '']);
});

test('a refusal over a socket has its problem as the body', async () => {
  const response = await sent(handler, '/v1/nothing');
  expect([response.status, await response.json()]).toMatchObject([404, { code: 'route_not_found' }]);
});

test('a handler in a function of the user gets responses with a body', async () => {
  const wrapped: Handler = async (request, environment) => {
    const { status, body } = await handler(request, environment);
    return new Response(body, { status, headers: { 'x-wrapped': 'yes' } });
  };
  const response = await sent(wrapped, '/v1/runs/r');
  expect([response.headers.get('x-wrapped'), await response.text()]).toEqual(['yes', expect.stringContaining('Zoë')]);
});
