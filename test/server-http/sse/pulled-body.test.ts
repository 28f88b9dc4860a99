import { createServer } from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { nodeListener } from '../../../src/server/index.ts';
import { pulledBody } from '../../../src/server/streams.ts';

const CHUNK = new Uint8Array(64_000);

test('a reader that does not read loses its connection and its place some time after it is cut', async () => {
  const cut = new AbortController();
  let places = 1;
  const over = (): void => void (places -= 1);
  const next = async (): Promise<Uint8Array | undefined> => (cut.signal.aborted ? undefined : CHUNK);
  const listener = nodeListener(async () => new Response(pulledBody({ next, over, signal: cut.signal, unreadMs: 20 })));
  const server = createServer(listener).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1').pause();
  socket.on('error', () => undefined);
  socket.write('GET / HTTP/1.1\r\nhost: localhost\r\n\r\n');
  const connections = (): Promise<number> => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)));
  await expect.poll(connections).toBe(1);
  cut.abort();
  await expect.poll(connections).toBe(0);
  expect(places).toBe(0);
  socket.destroy();
  server.close();
});

test('a reader that reads takes the end, and a source that ends late is not waited for', async () => {
  const cut = new AbortController();
  let ends = 0;
  const over = (): void => void (ends += 1);
  const read = pulledBody({ next: async () => (cut.signal.aborted ? undefined : CHUNK), over, signal: cut.signal }).getReader();
  await read.read();
  cut.abort();
  expect(await read.read()).toEqual({ done: true, value: undefined });
  const stuck = pulledBody({ next: () => new Promise(() => undefined), over, signal: cut.signal, unreadMs: 1 }).getReader();
  await expect(stuck.read()).rejects.toThrow('the stream was cut');
  expect(ends).toBe(2);
});

test('a source that fails breaks the body off, without a word of why', async () => {
  const next = async (): Promise<never> => {
    throw new Error('postgres://ops:secret@db');
  };
  const failure = await pulledBody({ next, over: () => undefined })
    .getReader()
    .read()
    .catch((error: unknown) => (error as Error).stack);
  expect(failure).toBe('StreamCutError: network error: the stream was cut');
});
