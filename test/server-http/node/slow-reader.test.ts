import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { fold, newView, type StreamItem } from '../../../src/client/index.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { createHandler, nodeListener } from '../../../src/server/index.ts';
import { FakeRun } from '../../client/stream/fake-run.ts';
import { feedsOf } from '../../client/stream/read-stream.ts';
import { until } from '../../server/testbed/until.ts';
import { clientWithRun } from '../requests.ts';

const PIECE = '.'.repeat(10_000);

/** Serves the run, and returns the port with the sockets of its readers. */
async function served(run: FakeRun): Promise<{ port: number; sockets: Socket[] }> {
  const readers = feedsOf(run);
  const stream = ({ cursor, signal }: { cursor?: string; signal: AbortSignal }) => readers.stream(cursor, signal);
  const server = createServer(nodeListener(createHandler(clientWithRun({ stream }))));
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { port: (server.address() as AddressInfo).port, sockets };
}

/** Requests the stream of the run, and does not read it until it is told to. */
async function paused(port: number): Promise<{ socket: Socket; text: () => string }> {
  const socket = connect(port, '127.0.0.1');
  socket.pause();
  await new Promise<void>((resolve) => socket.once('connect', resolve));
  const chunks: Buffer[] = [];
  socket.on('data', (chunk: Buffer) => chunks.push(chunk));
  socket.pause();
  socket.write('GET /v1/runs/run-1/stream HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
  onTestFinished(() => void socket.destroy());
  return { socket, text: () => Buffer.concat(chunks).toString() };
}

function itemsOf(text: string): StreamItem[] {
  // The chunks of HTTP have a line with their length before, and an empty line after.
  const messages = text.replaceAll(/\r\n[0-9a-f]+\r\n/g, '').matchAll(/id: (\S+)\nevent: \w+\ndata: (.*)\n\n/g);
  return [...messages].map(([, cursor = '', data = '']) => ({ ...(JSON.parse(data) as StreamItem), cursor }));
}

test('a client that does not read holds less than 1 MB in the service; once it reads again it gets a gap, and the whole record', async () => {
  const run = new FakeRun();
  run.record('Q', [{ type: 'message', role: 'user', content: 'Q' }]);
  const { port, sockets } = await served(run);
  const { socket, text } = await paused(port);
  await until(() => (sockets[0]?.bytesWritten ?? 0) > 0, 'the stream to begin');

  const of: StreamedAttempt = { executionId: run.executionId, eventId: 'A', through: 1, activity: 1, attempt: 1 };
  const [connection] = sockets;
  let published = 0;
  let mostHeld = 0;
  run.publish({ type: 'attempt', of });
  const publish = async (pieces: number): Promise<void> => {
    for (const end = published + pieces; published < end; published += 1)
      run.publish({ type: 'delta', of, index: published, delta: { type: 'text', text: PIECE } });
    await new Promise((resolve) => setTimeout(resolve, 5));
    mostHeld = Math.max(mostHeld, connection?.writableLength ?? 0);
  };
  // The operating system takes some megabytes before the connection is full.
  for (let full = 0, before = -1; full < 20; full = connection?.bytesWritten === before ? full + 1 : 0) {
    before = connection?.bytesWritten ?? 0;
    await publish(20);
  }
  const sent = connection?.bytesWritten;
  for (let wave = 0; wave < 50; wave += 1) await publish(50);
  expect(connection?.bytesWritten).toBe(sent);
  expect(mostHeld).toBeGreaterThan(0);
  expect(mostHeld).toBeLessThan(1_000_000);
  run.record('A', [{ type: 'message', role: 'assistant', content: 'whole' }], { usage: null });
  run.end();
  run.announce();

  socket.resume();
  await new Promise<void>((resolve) => socket.once('close', () => resolve()));
  const items = itemsOf(text());
  expect(items.filter(({ type }) => type === 'gap').length).toBeGreaterThan(0);
  expect(items.filter(({ type }) => type === 'delta').length).toBeLessThan(published);
  expect(items.at(-1)).toMatchObject({ type: 'end' });
  expect(items.reduce(fold, newView())).toMatchObject({ events: [{ id: 'Q' }, { id: 'A' }], live: [], result: { output: 'done' } });
});
