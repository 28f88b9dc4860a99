import { EventSource } from 'eventsource';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, inject, test } from 'vitest';
import { fold, newView, type StreamItem, type StreamView } from '../../../src/client/index.ts';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { callCli } from '../../cli/call-cli.ts';
import { type CliProcess, startCli, untilSaid } from '../../cli/cli-process.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const source = (path: string): string => new URL(`../../../${path}`, import.meta.url).href;

/** A module of agents whose model answers in pieces, with a call that waits or with the version of the file. */
function agentsOf(version: number): string {
  return `
import { defineAgent, defineTool } from '${source('src/index.ts')}';
import { callTool, say, scriptedModel } from '${source('src/testing/index.ts')}';
import { z } from '${import.meta.resolve('zod')}';
const pay = defineTool({ name: 'pay', description: 'Pays', parameters: z.object({}), approval: 'always', execute: () => 'paid' });
export const agents = [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay] })];
export const providers = { scripted: scriptedModel([${version === 1 ? "callTool('pay', {}, 'c1')" : `say('version ${version}', { chunks: 5, every: 20 })`}]) };
`;
}

/** Starts `dev` with a worker for the shared server, and returns its output once it is ready. */
async function session(args: string[], taskQueue: string): Promise<{ dev: CliProcess; ready: { httpUrl?: string } }> {
  const dev = startCli(['dev', ...args, '--address', inject('temporalAddress'), '--task-queue', taskQueue, '--json']);
  await untilSaid(dev, () => dev.stdout().includes('\n'), 'the line that says that all is ready');
  return { dev, ready: JSON.parse(dev.stdout()) as { httpUrl?: string } };
}

async function post(url: string, body: object): Promise<Response> {
  return fetch(url, { method: 'POST', body: JSON.stringify(body), headers: { 'content-type': 'application/json' } });
}

/** Reads the stream of a run as a page does. */
function follow(url: string): { source: EventSource; items: StreamItem[]; opened: () => number } {
  const items: StreamItem[] = [];
  let opened = 0;
  const events = new EventSource(url);
  events.addEventListener('open', () => (opened += 1));
  for (const type of ['event', 'step', 'delta', 'reset', 'gap', 'status', 'end'])
    events.addEventListener(type, ({ data, lastEventId }) => items.push({ ...JSON.parse(data), cursor: lastEventId } as StreamItem));
  return { source: events, items, opened: () => opened };
}

function viewOf(items: readonly StreamItem[]): StreamView {
  return items.reduce(fold, newView());
}

test('dev --watch serves runs over HTTP; the stream of a run continues at the next worker, with what its model writes', async () => {
  await using testbed = await Testbed.open();
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-dev-http-'));
  const agents = join(folder, 'agents.mts');
  await writeFile(agents, agentsOf(1));
  // Sessions of other tests may take the usual one between two workers.
  const [port] = await freePorts([undefined]);
  const { dev, ready } = await session(['--agents', agents, '--watch', '--http-port', String(port)], testbed.taskQueue);
  const url = String(ready.httpUrl);
  try {
    expect(url).toBe(`http://127.0.0.1:${port}`);
    expect(await (await fetch(`${url}/v1/agents`)).json()).toMatchObject({ agents: [{ name: 'clerk' }] });
    const started = await post(`${url}/v1/runs`, { agent: 'clerk', input: 'Q' });
    expect(started.status).toBe(201);
    const { runId } = (await started.json()) as { runId: string };
    const page = follow(`${url}/v1/runs/${runId}/stream`);
    try {
      await until(() => viewOf(page.items).status === 'pending_confirmation', 'the call to wait');

      await writeFile(agents, agentsOf(2));
      await untilSaid(dev, () => dev.stderr().includes('The worker polls again'), 'the worker to poll again');
      await until(() => page.opened() > 1, 'the stream to come back');
      await testbed.client.handle(runId).approve('c1');
      await until(() => page.items.at(-1)?.type === 'end', 'the end of the run');
    } finally {
      page.source.close();
    }

    const { items } = page;
    expect(items.filter((item) => item.type === 'event').map(({ offset }) => offset)).toEqual([0, 1, 2, 3, 4]);
    expect(items.flatMap((item) => (item.type === 'delta' && item.delta.type === 'text' ? [item.delta.text] : [])).length).toBeGreaterThan(
      1,
    );
    expect(viewOf(items)).toMatchObject({ live: [], result: { output: 'version 2' } });
    dev.child.kill('SIGINT');
    expect(await dev.ended).toBe(0);
    await expect(fetch(`${url}/livez`)).rejects.toThrow('fetch failed');
    expect(dev.stderr()).not.toContain('answers no HTTP requests');
  } finally {
    dev.child.kill('SIGKILL');
    await rm(folder, { recursive: true });
  }
});

test('dev listens on the port that it is given, and not at all with --no-http', async () => {
  await using testbed = await Testbed.open();
  const folder = await mkdtemp(join(tmpdir(), 'longhaul-dev-http-'));
  const agents = join(folder, 'agents.mts');
  await writeFile(agents, agentsOf(2));
  const other = createServer();
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  const port = String((other.address() as AddressInfo).port);
  try {
    const taken = await callCli(['dev', '--agents', agents, '--http-port', port, '--address', inject('temporalAddress')]);
    expect([taken.exitCode, taken.stderr]).toEqual([7, expect.stringContaining(`Port "${port}" cannot be used`) as string]);
    await new Promise((resolve) => other.close(resolve));
    for (const [args, httpUrl] of [
      [['--http-port', port], `http://127.0.0.1:${port}`],
      [['--no-http'], undefined],
    ] as const) {
      const { dev, ready } = await session(['--agents', agents, ...args], testbed.taskQueue);
      try {
        expect(ready.httpUrl).toBe(httpUrl);
        dev.child.kill('SIGINT');
        expect(await dev.ended).toBe(0);
      } finally {
        dev.child.kill('SIGKILL');
      }
    }
  } finally {
    other.close();
    await rm(folder, { recursive: true });
  }
});
