import { createServer, type RequestListener } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { expect, test } from 'vitest';
import { MAX_MESSAGE_BYTES } from '../../../activities/mcp/message-text.ts';
import { serverFetch } from '../../../activities/mcp/open-connection.ts';

/** The answer of a server, as text. */
async function answered(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await (await serverFetch({ read: (text) => text })(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).text();
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

const piece = 'x'.repeat(1_000_000);

test('an answer arrives whole, with its status', async () => {
  expect(await answered((_, response) => response.writeHead(404, { 'content-type': 'application/json' }).end('{"a":1}'))).toBe('{"a":1}');
});

test('an answer that is too large is aborted', async () => {
  const tooLarge = answered((_, response) => {
    response.writeHead(200, { 'content-type': 'application/json' });
    for (let bytes = 0; bytes <= MAX_MESSAGE_BYTES; bytes += piece.length) response.write(piece);
    response.end();
  });
  await expect(tooLarge).rejects.toThrow('a message of more than 10000000 bytes');
});

test('a stream may have any length, if its events are small', async () => {
  const events = 12;
  const text = await answered((_, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    for (let event = 0; event < events; event += 1) response.write(`data: ${piece}\n\n`);
    response.end();
  });
  expect(text.length).toBe(events * (piece.length + 'data: \n\n'.length));
});
