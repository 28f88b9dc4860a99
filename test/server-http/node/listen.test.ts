import { connect } from 'node:net';
import { once } from 'node:events';
import { expect, test, vi } from 'vitest';
import { createHandler, type ReportError } from '../../../src/server/index.ts';
import { listen } from '../../../src/server/node-server.ts';
import { clientWithRun } from '../requests.ts';

const LOCAL = { host: '127.0.0.1', port: 0 };

/** A promise, and the function that resolves it. */
function gate(): { open: () => void; opened: Promise<void> } {
  let open = (): void => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

test('a server that closes answers the requests under way, and takes no others', async () => {
  const [begun, released] = [gate(), gate()];
  const pause = async (): Promise<object> => {
    begun.open();
    await released.opened;
    return { version: 1, paused: true };
  };
  const server = await listen(createHandler(clientWithRun({ pause })), LOCAL);
  expect((await fetch(`${server.url}/livez`)).status).toBe(200);
  const answered = fetch(`${server.url}/v1/runs/r/pause`, { method: 'POST' });
  await begun.opened;
  const closed = server.close(60_000);
  await expect(fetch(`${server.url}/livez`)).rejects.toThrow('fetch failed');
  released.open();
  expect((await answered).status).toBe(200);
  await closed;
});

test('a request that is not answered within the grace is cut off', async () => {
  const begun = gate();
  const pause = async (): Promise<never> => {
    begun.open();
    return new Promise(() => undefined);
  };
  const server = await listen(createHandler(clientWithRun({ pause })), LOCAL);
  const answered = fetch(`${server.url}/v1/runs/r/pause`, { method: 'POST' }).then(
    () => 'answered',
    () => 'cut off',
  );
  await begun.opened;
  await server.close(1);
  expect(await answered).toBe('cut off');
});

test('a caller that goes away ends its wait, and not the run', async () => {
  const [begun, gone] = [gate(), gate()];
  const called: string[] = [];
  const result = async ({ signal }: { signal: AbortSignal }): Promise<never> => {
    called.push('result');
    begun.open();
    return new Promise((_, reject) => {
      signal.addEventListener('abort', () => {
        gone.open();
        reject(signal.reason as Error);
      });
    });
  };
  const status = async (): Promise<object> => {
    called.push('status');
    return {};
  };
  const server = await listen(createHandler(clientWithRun({ result, status })), LOCAL);
  const caller = new AbortController();
  const answered = fetch(`${server.url}/v1/runs/r/result?wait=60s`, { signal: caller.signal }).catch(() => undefined);
  await begun.opened;
  caller.abort();
  await gone.opened;
  await answered;
  expect(called.filter((name) => name !== 'status')).toEqual(['result']);
  await server.close(0);
});

test('a body that is too large is refused on a socket while it is sent', async () => {
  const server = await listen(createHandler(clientWithRun({})), LOCAL);
  const { port } = new URL(server.url);
  const socket = connect(Number(port), '127.0.0.1');
  await once(socket, 'connect');
  socket.on('error', () => undefined);
  socket.write('POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n');
  const chunk = `186a0\r\n${' '.repeat(100_000)}\r\n`;
  for (let sent = 0; sent < 12; sent += 1) socket.write(chunk);
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 413 /);
  socket.destroy();
  await server.close(0);
});

test.each([
  ['a length', 'content-length: 100\r\n\r\n{"agent":'],
  ['chunks', 'transfer-encoding: chunked\r\n\r\n9\r\n{"agent":\r\n'],
])('a caller that disconnects while it sends a body, with %s, is not an error of the service', async (_, rest) => {
  const onError = vi.fn<ReportError>();
  const answered: number[] = [];
  const begun = gate();
  const handler = createHandler(clientWithRun({}), { onError });
  const server = await listen(async (...request) => {
    const answer = handler(...request);
    begun.open();
    const response = await answer;
    answered.push(response.status);
    return response;
  }, LOCAL);
  const socket = connect(Number(new URL(server.url).port), '127.0.0.1');
  await once(socket, 'connect');
  const request = `POST /v1/runs HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n${rest}`;
  socket.write(request);
  await begun.opened;
  socket.resetAndDestroy();
  await vi.waitFor(() => expect(answered).toEqual([400]));
  expect(onError).not.toHaveBeenCalled();
  await server.close(0);
});

test('a port that is taken is reported as such', async () => {
  const server = await listen(createHandler(clientWithRun({})), LOCAL);
  const again = listen(createHandler(clientWithRun({})), { ...LOCAL, port: Number(new URL(server.url).port) });
  await expect(again).rejects.toThrow('Choose another --port');
  await server.close(0);
});

test('the HEAD of a stream is answered without a body, and leaves no reader behind', async () => {
  let readers = 0;
  async function* stream(): AsyncGenerator<object> {
    readers += 1;
    try {
      for (;;) yield { type: 'status', status: 'running', cursor: 'c' };
    } finally {
      readers -= 1;
    }
  }
  const server = await listen(createHandler(clientWithRun({ stream })), LOCAL);
  const { status, headers } = await fetch(`${server.url}/v1/runs/r/stream`, { method: 'HEAD' });
  expect([status, headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
  await expect.poll(() => readers).toBe(0);
  await server.close(0);
});
