import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { serve } from '@hono/node-server';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { ModelCallError } from '../../../../src/core/domain/errors.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import { defineAgent } from '../../../../src/index.ts';
import { createHandler } from '../../../../src/server/index.ts';
import { memoryStreams } from '../../../../src/streams/memory-streams.ts';
import { callTool, say, scriptedModel, structured, together } from '../../../../src/testing/index.ts';
import { assistant } from '../../testbed/agents.ts';
import { type PythonEnvironment, pythonEnvironment } from '../../testbed/python-environment.ts';
import { Testbed } from '../../testbed/testbed.ts';

const run = promisify(execFile);

/** The packages of an environment, and the file with its cases. */
interface Clients {
  what: string;
  file: string;
  packages: readonly string[];
}

const CLIENTS: readonly Clients[] = [
  { what: 'the newest openai', file: 'openai_cases.py', packages: ['openai', 'openai-agents', 'pydantic-ai-slim[openai]', 'mcp'] },
  { what: 'the newest openai 1.x', file: 'openai_cases.py', packages: ['openai<2'] },
  {
    what: 'openai-agents, pydantic-ai and mcp',
    file: 'framework_cases.py',
    packages: ['openai', 'openai-agents', 'pydantic-ai-slim[openai]', 'mcp'],
  },
];

/** Returns the Python of each environment, or the reason why it is not available. */
async function environments(): Promise<Map<Clients, PythonEnvironment>> {
  const found = new Map<Clients, PythonEnvironment>();
  // Sequentially: the first and the last one have the same packages.
  for (const clients of CLIENTS) found.set(clients, await pythonEnvironment(clients.packages));
  return found;
}

const found = await environments();

const counter = defineAgent({ name: 'counter', model: 'scripted/m', output: z.object({ total: z.number() }) });
const broken = defineAgent({ name: 'broken', model: 'broken/m', modelMaxAttempts: 1 });
const agents = [assistant, counter, broken];

/** Searches once for each request of the user, and then answers; an agent with a schema counts. */
const model: ModelClient = {
  capabilities: { structuredOutput: true },
  call: (request, context) => {
    const last = request.conversation.at(-1)?.content.at(-1);
    const isAsked = last?.type === 'message' && last.role === 'user';
    const look = together(say('I look.'), callTool('search', { query: 'x' }));
    const entry = request.output !== undefined ? structured({ total: 3 }) : isAsked ? look : say('Here it is', { chunks: 5, every: '2ms' });
    return scriptedModel([entry]).call(request, context);
  },
};

const failing: ModelClient = {
  capabilities: { structuredOutput: true },
  call: () => Promise.reject(new ModelCallError('model_error', 'The provider is broken')),
};

let testbed: Testbed;
let server: ReturnType<typeof serve>;
let url = '';

beforeAll(async () => {
  testbed = await Testbed.open();
  const streams = memoryStreams();
  await testbed.work({ agents, providers: { scripted: model, broken: failing }, streams });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, streams });
  server = serve({ fetch: createHandler(client, { agents, limits: false }), port: 0, hostname: '127.0.0.1' });
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});

afterAll(async () => {
  server.close();
  await testbed[Symbol.asyncDispose]();
});

for (const [{ what, file }, { python, missing }] of found) {
  describe.skipIf(python === undefined)(`clients in Python${missing === undefined ? '' : `, which cannot be had: ${missing}`}`, () => {
    test(`${what} reads answers whole and streamed, structured, with tools, and errors`, { timeout: 180_000 }, async () => {
      const script = fileURLToPath(new URL(`python/${file}`, import.meta.url));
      const cases = (await readFile(script, 'utf8')).split('\n').filter((line) => line === '@case').length;
      const { stdout, stderr } = await run(python ?? '', ['-B', script, url], { timeout: 170_000, maxBuffer: 10_000_000 });
      const line = stdout.split('\n').find((one) => one.startsWith('OUTCOMES ')) ?? `OUTCOMES {"": ${JSON.stringify(stderr)}}`;
      const outcomes = JSON.parse(line.slice('OUTCOMES '.length)) as Record<string, string>;
      expect(Object.entries(outcomes).flatMap(([name, outcome]) => (outcome === 'ok' ? [] : [`${name}: ${outcome}`]))).toEqual([]);
      expect(Object.keys(outcomes)).toHaveLength(cases);
    });
  });
}
