import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { stripTypeScriptTypes } from 'node:module';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { freePorts } from '../../../src/dev-server/start-flags.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { createApiKey, fileApiKeys } from '../../../src/server/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { killProcess } from '../testbed/other-processes.ts';
import { Testbed, until } from '../testbed/testbed.ts';
import { type ConsumerProject, INSTALL_TIMEOUT_MS, projectWith, whyNotInstalled } from './consumer-project.ts';

const NEXT = 'next@16.4.6';
const reason = await whyNotInstalled(NEXT);

const pay = defineTool({ name: 'pay', description: 'Pays', parameters: z.object({}), approval: 'always', execute: () => 'paid' });
const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [pay] });

/** Writes the route of the example into a project, and builds it. */
async function build({ path }: ConsumerProject): Promise<void> {
  const route = join(path, 'app/api/[...path]');
  await mkdir(route, { recursive: true });
  const source = await readFile(new URL('../../../examples/next/route.ts', import.meta.url), 'utf8');
  // With a file in TypeScript, Next would install a compiler.
  await writeFile(join(route, 'route.js'), stripTypeScriptTypes(source));
  await promisify(execFile)(process.execPath, [join(path, 'node_modules/next/dist/bin/next'), 'build'], { cwd: path, env: environment() });
}

function environment(): NodeJS.ProcessEnv {
  const server = { TEMPORAL_ADDRESS: inject('temporalAddress'), TEMPORAL_NAMESPACE: inject('temporalNamespace') };
  return { ...process.env, ...server, NODE_ENV: 'production', NEXT_TELEMETRY_DISABLED: '1' };
}

/** Starts the built app, and returns its address once it answers. */
async function start({ path }: ConsumerProject): Promise<{ app: ChildProcess; url: string }> {
  const [port] = await freePorts([undefined]);
  const args = [join(path, 'node_modules/next/dist/bin/next'), 'start', '--hostname', '127.0.0.1', '--port', String(port)];
  const app = spawn(process.execPath, args, { cwd: path, env: environment(), stdio: ['ignore', 'ignore', 'inherit'] });
  const url = `http://127.0.0.1:${port}/api`;
  const answers = (): Promise<boolean> =>
    fetch(`${url}/livez`).then(
      ({ ok }) => ok,
      () => false,
    );
  try {
    await until(answers, 'the app to answer', 30);
  } catch (error) {
    await killProcess(app);
    throw error;
  }
  return { app, url };
}

describe.skipIf(reason !== '')(`mounted in Next.js${reason}`, () => {
  let project: ConsumerProject | undefined;
  let url = '';
  let app: ChildProcess | undefined;
  let key = '';

  beforeAll(async () => {
    const made = await projectWith([NEXT]);
    project = made;
    await build(made);
    const keys = fileApiKeys({ file: join(made.path, 'longhaul-keys.json') });
    key = (await createApiKey(keys, { name: 'test', principal: 'all', scopes: ['runs:read', 'runs:write', 'approvals:decide', 'admin'] }))
      .text;
    ({ app, url } = await start(made));
  }, 2 * INSTALL_TIMEOUT_MS);

  afterAll(async () => {
    if (app !== undefined) await killProcess(app);
    await project?.remove();
  });

  const call = (path: string, init: { method?: string; body?: object } = {}): Promise<Response> =>
    fetch(`${url}${path}`, {
      ...(init.method === undefined ? {} : { method: init.method }),
      ...(init.body === undefined ? {} : { body: JSON.stringify(init.body) }),
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    });

  test('a run is started, read and decided; its stream shows each item when it comes, until the end', async () => {
    await using testbed = await Testbed.open();
    await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([callTool('pay', {}, 'c1'), say('It is paid.')]) } });
    const started = await call('/v1/runs', { method: 'POST', body: { agent: 'clerk', input: 'Q', taskQueue: testbed.taskQueue } });
    expect(started.status).toBe(201);
    const { runId } = (await started.json()) as { runId: string };
    expect(started.headers.get('location')).toBe(`/api/v1/runs/${runId}`);
    expect(await (await call(`/v1/runs/${runId}`)).json()).toMatchObject({ runId, agentName: 'clerk' });

    const stream = await call(`/v1/runs/${runId}/stream`);
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const items = itemsOf(stream);
    const first: string[] = [];
    // The run waits for the decision: an answer that is held back would come after it.
    for await (const { type, status } of items) {
      first.push(type);
      if (status === 'pending_confirmation') break;
    }
    expect(first).toContain('event');
    const approvals = (await (await call(`/v1/runs/${runId}/approvals`)).json()) as { pending: { digest: string }[] };
    const decision = { type: 'approve', digest: approvals.pending[0]?.digest };
    expect((await call(`/v1/runs/${runId}/approvals/c1`, { method: 'POST', body: decision })).status).toBe(200);
    const rest: Item[] = [];
    for await (const item of items) rest.push(item);
    expect(rest.at(-1)).toMatchObject({ type: 'end', result: { output: 'It is paid.' } });
  });

  test('a refusal of the service is a problem document, and ids are unchanged', async () => {
    const unknown = await call('/v1/nothing');
    expect([unknown.status, unknown.headers.get('content-type')]).toEqual([404, 'application/problem+json']);
    expect(await (await call('/v1/runs/a%2F%C3%BC')).json()).toMatchObject({ status: 404, code: 'run_not_found' });
    expect((await call('/v1/runs', { method: 'POST', body: { agent: 'clerk', input: ' '.repeat(1_000_001) } })).status).toBe(413);
    expect((await fetch(`${url}/v1/agents`)).status).toBe(401);
    expect((await call('/v1/agents', { method: 'HEAD' })).status).toBe(200);
  });
});

/** An item of a stream, as far as the test reads it. */
interface Item {
  type: string;
  status?: string;
  result?: object;
}

/** Yields the items of a stream. It can be read on after a loop has ended early. */
function itemsOf({ body }: Response): AsyncIterable<Item> {
  const reader = (body ?? new ReadableStream()).pipeThrough(new TextDecoderStream()).getReader();
  let text = '';
  const next = async (): Promise<IteratorResult<Item>> => {
    for (;;) {
      const [line, ...others] = text.split('\n');
      if (line !== undefined && others.length > 0) {
        text = others.join('\n');
        if (line.startsWith('data: ')) return { done: false, value: JSON.parse(line.slice(6)) as Item };
        continue;
      }
      const got = await reader.read();
      if (got.done) return { done: true, value: undefined };
      text += got.value;
    }
  };
  return { [Symbol.asyncIterator]: () => ({ next }) };
}
