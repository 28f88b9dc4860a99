import { createServer, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import type { PagesReply, PagesRequest } from '../../bench/studio/load.ts';
import { ProgramProcess } from '../processes/program-process.ts';

const PROGRAM = fileURLToPath(new URL('../../bench/processes/studio-pages.ts', import.meta.url));

/** Answers like a service with a run of four events whose stream is cut in the middle. Returns its address and its requests. */
async function servedRun(refused = ''): Promise<{ url: string; asked: string[]; close: () => void }> {
  const asked: string[] = [];
  const send = (response: ServerResponse, from: number, to: number): void => {
    for (let offset = from; offset < to; offset += 1) response.write(`id: ${offset}\nevent: event\ndata: {"type":"event"}\n\n`);
  };
  const server = createServer((request, response) => {
    const { pathname, search } = new URL(request.url ?? '', 'http://localhost');
    asked.push(`${pathname}${search}`);
    if (pathname === refused) return void response.writeHead(503).end('{}');
    if (pathname === '/v1/feed') return response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
    if (pathname.endsWith('/timeline')) return void response.end(JSON.stringify({ next: Number(search.slice('?from='.length)) + 1 }));
    if (!pathname.endsWith('/stream')) return void response.end('{}');
    const isAgain = request.headers['last-event-id'] === '1';
    send(response, isAgain ? 2 : 0, isAgain ? 4 : 2);
    if (isAgain) response.write('id: 4\nevent: end\ndata: {"type":"end","result":{"status":"completed"}}\n\n');
    response.end();
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const close = (): void => server.close().closeAllConnections();
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, asked, close };
}

test('open pages read as much of a run as the page does, resume a stream that is cut, and end with the last facts', async () => {
  const service = await servedRun();
  const pages = new ProgramProcess<PagesRequest, PagesReply>(PROGRAM, { url: service.url, pages: 2 });
  await pages.start();
  await pages.ask({ type: 'open' }, 'opened');
  await pages.ask({ type: 'show', runId: 'r' }, 'shown');
  const { events } = await pages.ask({ type: 'close' }, 'closed');
  await pages.stop();
  service.close();
  expect(events).toBe(8);
  expect(service.asked.filter((path) => path === '/v1/runs/r/stream')).toHaveLength(4);
  expect(service.asked.filter((path) => path.startsWith('/v1/runs/r/timeline')).slice(-3)).toContain('/v1/runs/r/timeline?from=2');
});

test('a page that the service refuses fails the measurement', async () => {
  const service = await servedRun('/v1/runs/r/tree');
  const pages = new ProgramProcess<PagesRequest, PagesReply>(PROGRAM, { url: service.url, pages: 1 });
  await pages.start();
  await pages.ask({ type: 'open' }, 'opened');
  await pages.ask({ type: 'show', runId: 'r' }, 'shown');
  await expect(pages.ask({ type: 'close' }, 'closed')).rejects.toThrow('ended');
  service.close();
});
