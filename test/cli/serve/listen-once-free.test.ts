import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { isPortTaken, listenOnceFree } from '../../../src/cli/serve/dev-worker.ts';

const handler = async (): Promise<Response> => new Response('the next one');

/** Takes a port, as the worker before. */
async function taken(): Promise<{ port: number; leave: () => Promise<void> }> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => void server.close());
  return { port: (server.address() as AddressInfo).port, leave: () => new Promise((resolve) => server.close(() => resolve())) };
}

test('a port is taken as soon as the worker before has left it', async () => {
  const { port, leave } = await taken();
  const listening = listenOnceFree(handler, { host: '127.0.0.1', port, signal: new AbortController().signal, withinMs: 20_000 });
  await leave();
  const server = await listening;
  onTestFinished(() => server?.close(0));
  expect(await (await fetch(`http://127.0.0.1:${port}`)).text()).toBe('the next one');
});

test('the wait for a port ends with an error after its time, and without an error if the worker is told to end', async () => {
  const { port } = await taken();
  const where = { host: '127.0.0.1', port };
  const late = listenOnceFree(handler, { ...where, signal: new AbortController().signal, withinMs: 0 });
  await expect(late).rejects.toSatisfy(isPortTaken);
  const ending = new AbortController();
  const ended = listenOnceFree(handler, { ...where, signal: ending.signal, withinMs: 20_000 });
  ending.abort();
  expect(await ended).toBeUndefined();
});
