import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { inspect } from 'node:util';
import { Runtime } from '@temporalio/worker';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import type { ObjectSchema, ToolOptions } from '../../../src/define/define-tool.ts';
import {
  contextUpdate,
  defineAgent,
  defineTool,
  ModelRetry,
  resource,
  type RunContext,
  ToolFailure,
  toolOutput,
  withUpdate,
} from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { fileStore } from '../../../worker/index.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

/** Each kind of escaping changes this value in another way. */
const VALUE = 'tr4ce "of/a\\secrét+';

/** Writes the secret to one place. */
type Leak = (value: string, context: RunContext<Record<string, unknown>>) => unknown;

/** The secrets that the tools of this process have read, by the name of the tool. */
const read = new Map<string, string>();

/** Resolved when the heartbeat of a tool has arrived, so that the tool continues. */
const heard = Promise.withResolvers<void>();

function leakyTool(name: string, leak: Leak, options: Partial<ToolOptions<ObjectSchema, Record<string, unknown>, unknown>> = {}) {
  return defineTool({
    ...options,
    name,
    description: 'Cannot keep a secret',
    parameters: z.object({}),
    execute: async (_, context) => {
      const value = await context.secret('crm-token');
      read.set(name, value);
      return leak(value, context);
    },
  });
}

function throwing(error: (value: string) => Error): Leak {
  return (value) => {
    throw error(value);
  };
}

/** A tool for each place that a tool can write to. Its text begins with its name. */
const leakyAgent = defineAgent({
  name: 'gossip',
  model: 'scripted/m',
  deps: z.looseObject({ note: z.string().optional() }),
  tools: [
    leakyTool('in_result', (value) => ({
      text: `in_result ${value}`,
      [`in_result_key ${value}`]: [encodeURIComponent(`in_result ${value}`), Buffer.from(`user:${value}`).toString('base64')],
    })),
    leakyTool(
      'in_error',
      throwing((value) => new Error(`in_error ${value}`, { cause: new Error(value) })),
      {
        maxAttempts: 2,
        backoff: { initial: 1 },
      },
    ),
    leakyTool('in_blocks', (value) => toolOutput([`in_blocks ${value}`, { type: 'text', text: value }, { type: 'json', [value]: value }])),
    leakyTool('in_heartbeat', async (value, { heartbeat }) => {
      heartbeat({ [`in_heartbeat_key ${value}`]: `in_heartbeat ${value}` });
      await heard.promise;
    }),
    leakyTool('in_log', (value, { log }) => {
      const fields = { [`in_log_key ${value}`]: { deep: [`in_log_field ${value}`] }, error: new Error(`in_log_error ${value}`) };
      log.debug(`in_log_debug ${value}`);
      log.info(`in_log_info ${value}`, fields);
      log.warn(`in_log_warn ${value}`, fields);
      log.error(`in_log_error ${value}`, fields);
    }),
    leakyTool('in_state', (value, { setState }) => setState(`in_state_key ${value}`, [{ text: `in_state ${value}` }])),
    leakyTool('in_update', (value) => withUpdate('in_update', contextUpdate().set('note', `in_update ${value}`))),
    leakyTool('in_update_key', (value) => withUpdate('in_update_key', contextUpdate().set(`in_update_key ${value}`, 1))),
    leakyTool('in_undone_update', (value) => withUpdate('in_undone_update', contextUpdate().set('gone', value).delete('gone'))),
    leakyTool(
      'in_model_retry',
      throwing((value) => new ModelRetry(`in_model_retry ${value}`)),
    ),
    leakyTool(
      'in_tool_failure',
      throwing((value) => new ToolFailure(`in_tool_failure ${value}`)),
    ),
    leakyTool('in_local_result', (value) => `in_local_result ${value}`, { tier: 'local' }),
    leakyTool(
      'in_local_error',
      throwing((value) => new Error(`in_local_error ${value}`)),
      { tier: 'local', maxAttempts: 2, backoff: { initial: 1 } },
    ),
    leakyTool('in_spilled', (value) => `in_spilled ${value}`.repeat(200), { maxResultBytes: 1_000, overflow: 'spill' }),
    leakyTool('in_resource', () => 'not reached', { resources: ['crm'], maxAttempts: 1 }),
  ],
});

/** A resource whose error repeats the secret. */
const crm = resource({
  lazy: true,
  open: async ({ secret }) => {
    const value = await secret('crm-token');
    read.set('in_resource', value);
    throw new Error(`in_resource ${value}`);
  },
});

let directory: string;
beforeEach(async () => (directory = await mkdtemp(path.join(tmpdir(), 'longhaul-secrets-'))));
afterEach(async () => {
  vi.restoreAllMocks();
  await rm(directory, { recursive: true });
});

/** Any value as JSON, followed by the text of its payloads, which are base64 in the JSON of Temporal's messages. */
function dump(value: unknown): string {
  const texts: string[] = [];
  const json = JSON.stringify(value, (_, one: unknown) => {
    if (typeof one === 'string' && /^[A-Za-z0-9+/]{8,}={0,2}$/.test(one)) texts.push(Buffer.from(one, 'base64').toString());
    return typeof one === 'bigint' ? String(one) : one;
  });
  return [json, ...texts].join('\n');
}

/** Every form of the secret that a reader could recognize. */
const TRACES = [
  VALUE,
  JSON.stringify(VALUE).slice(1, -1),
  JSON.stringify(JSON.stringify(VALUE).slice(1, -1)).slice(1, -1),
  encodeURIComponent(VALUE),
  Buffer.from(VALUE).toString('base64').slice(0, 16),
  Buffer.from(`user:${VALUE}`).toString('base64').slice(8, 24),
  'tr4ce',
];

function expectNoTrace(text: string): void {
  expect(TRACES.filter((trace) => text.includes(trace))).toEqual([]);
}

/** Everything that the server and the client return about a run. */
async function everythingOf(testbed: Testbed, run: RunHandle<unknown>): Promise<string> {
  const workflow = testbed.client.temporal.workflow.getHandle(run.runId);
  const exported: unknown[] = [];
  for await (const line of run.export()) exported.push(line);
  return dump([
    await historyOf(testbed, run.runId),
    (await workflow.describe()).raw,
    await workflow.query('__temporal_workflow_metadata'),
    await run.context(),
    await run.steps(),
    await run.result(),
    await run.status(),
    exported,
  ]);
}

/** All lines that workers log from now on, with their fields. */
function workerLog(): () => string {
  const spy = vi.spyOn(Runtime.instance().logger, 'log').mockReturnValue(undefined);
  return () => inspect(spy.mock.calls, { depth: 12, maxArrayLength: null, maxStringLength: null }) + dump(spy.mock.calls);
}

async function filesIn(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return Promise.all(entries.filter((entry) => entry.isFile()).map((entry) => readFile(path.join(entry.parentPath, entry.name), 'utf8')));
}

test('a secret that tools write to every possible place is replaced by its name', async () => {
  const logged = workerLog();
  await using testbed = await Testbed.open();
  const names = leakyAgent.tools.map(({ name }) => name);
  const scripted = scriptedModel([together(say(''), ...names.map((name) => callTool(name, {}, name))), say('done')]);
  await testbed.work({
    agents: [leakyAgent],
    providers: { scripted },
    resources: { crm },
    payloadStore: fileStore({ directory }),
    secrets: (name) => (name === 'crm-token' ? VALUE : undefined),
  });
  const run = await testbed.client.start(leakyAgent, { input: 'Q', deps: { note: 'as given' }, taskQueue: testbed.taskQueue });

  const workflow = testbed.client.temporal.workflow.getHandle(run.runId);
  const beaten = async (): Promise<string> => dump((await workflow.describe()).raw.pendingActivities);
  await until(async () => (await beaten()).includes('in_heartbeat_key [secret'), 'the heartbeat');
  const whileRunning = (await beaten()) + dump(await workflow.query('__temporal_workflow_metadata'));
  heard.resolve();
  expect(await run.result()).toMatchObject({ status: 'completed' });

  expect([...read.keys()].toSorted()).toEqual(names.toSorted());
  expect([...new Set(read.values())]).toEqual([VALUE]);
  const everything = whileRunning + (await everythingOf(testbed, run));
  const requests = dump(scripted.requests);
  const stored = (await filesIn(directory)).join('\n');
  for (const text of [everything, requests, stored, logged()]) expectNoTrace(text);

  // Each place was reached, and contains the name of the secret.
  const places = names.filter((name) => !['in_log', 'in_update', 'in_update_key', 'in_undone_update', 'in_spilled'].includes(name));
  for (const index of [...places, 'in_result_key', 'in_heartbeat_key', 'in_state_key'])
    expect(everything).toMatch(new RegExp(`${index} \\[secret \\\\*"crm-token\\\\*"\\]`));
  for (const place of ['key', 'field', 'debug', 'info', 'warn', 'error'])
    expect(logged()).toContain(`in_log_${place} [secret "crm-token"]`);
  expect(stored).toMatch(/in_spilled \[secret/);

  // Updates that would put the secret into the deps are refused as a whole.
  const steps = await run.steps();
  const results = Object.fromEntries(steps.flatMap(({ toolCalls }) => toolCalls).map(({ callId, result }) => [callId, result]));
  expect(results['in_update']).toContain('deps.note has a secret in it');
  expect(results['in_update_key']).toMatch(/deps\["in_update_key \[secret .*has a secret in it/);
  expect(results['in_undone_update']).toContain('deps.gone has a secret in it');
  expect(everything).not.toContain('contextUpdates');
});

test('a tool that asks for a secret that the worker lacks fails with the name and the places that were searched', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('in_local_result', {}, 'c1'), say('done')]);
  const secrets = { where: (name: string) => `the drawer of ${name}`, read: () => undefined };
  await testbed.work({
    agents: [leakyAgent],
    providers: { scripted },
    resources: { crm },
    payloadStore: fileStore({ directory }),
    secrets,
  });
  const result = await testbed.client.run(leakyAgent, { input: 'Q', taskQueue: testbed.taskQueue, steps: true });
  expect(result.steps?.[0]?.toolCalls[0]).toMatchObject({
    isError: true,
    result: expect.stringContaining('Secret "crm-token" is missing. It was looked for in: the drawer of crm-token.'),
  });
});

test('a run that is started past the client with a likely secret in its deps ends with the path to it', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([]);
  await testbed.work({ agents: [leakyAgent], providers: { scripted }, resources: { crm }, payloadStore: fileStore({ directory }) });
  const { workflowId } = await testbed.client.temporal.workflow.start('agentRun', {
    args: [{ agent: 'gossip', input: 'Q', deps: { crm: { api_key: 'v8-Kq2' } } }],
    taskQueue: testbed.taskQueue,
    workflowId: `${testbed.taskQueue}-credential`,
  });
  expect(await testbed.client.handle(workflowId).result()).toMatchObject({
    status: 'error',
    errorCode: 'invalid_input',
    error: expect.stringContaining('deps.crm.api_key is a text under the name of a credential'),
  });
});
