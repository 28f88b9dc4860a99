import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { agents, reporter, reports } from '../../../examples/mcp/agents.ts';
import { defineAgent, mcpServer, secret } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { Replayer } from '../../../worker/index.ts';
import {
  EVERYTHING,
  FILESYSTEM,
  type HttpServer,
  httpServer,
  type RecordingProxy,
  recordingProxy,
} from '../../activities/mcp/real-servers.ts';
import { OddServer } from '../../activities/mcp/odd-server.ts';
import { search } from '../testbed/agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const TOKEN = 'value-of-the-crm-token';
const secrets = (name: string): string | undefined => (name === 'crm-token' ? TOKEN : undefined);
let directory: string;
let server: HttpServer;
let proxy: RecordingProxy;

beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'longhaul-mcp-'));
  server = await httpServer();
  proxy = await recordingProxy(server.url);
});
afterAll(async () => {
  await proxy[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true });
});

/** The text of a history, with its payloads decoded. */
function clearText(history: unknown): string {
  const payloads: string[] = [];
  const json = JSON.stringify(history, (key, value: unknown) => {
    if (key === 'data' && typeof value === 'string') payloads.push(Buffer.from(value, 'base64').toString());
    return value;
  });
  return [json, ...payloads].join('\n');
}

/** Starts server-everything in a process that writes its id to a file. */
function startedServer(pids: string): { command: string; args: string[] } {
  return { command: 'sh', args: ['-c', `echo $$ >> ${pids}; exec ${process.execPath} ${EVERYTHING} stdio`] };
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('an agent has the tools of servers over stdio and HTTP as separate activities, and its history contains no secret', async () => {
  const pids = join(directory, 'pids');
  writeFileSync(join(directory, 'report.txt'), 'All is well.');
  const agent = defineAgent({
    name: 'clerk',
    model: 'scripted/m',
    instructions: 'Answer.',
    tools: [search],
    mcp: [
      mcpServer({
        name: 'local',
        ...startedServer(pids),
        env: { CRM_TOKEN: secret('crm-token') },
        tools: { include: ['echo', 'get-env', 'get-tiny-image'] },
      }),
      mcpServer({
        name: 'remote',
        url: proxy.url,
        headers: { authorization: secret('crm-token', { prefix: 'Bearer ' }) },
        tools: { include: ['echo'] },
      }),
      mcpServer({ name: 'files', command: process.execPath, args: [FILESYSTEM, directory], tools: { include: ['read_text_file'] } }),
    ],
  });
  const calls = together(
    callTool('local_echo', { message: 'near' }),
    callTool('remote_echo', { message: 'far' }),
    callTool('get-env', {}),
    callTool('get-tiny-image', {}),
    callTool('read_text_file', { path: join(directory, 'report.txt') }),
    callTool('read_text_file', { path: '/etc/hostname' }),
  );
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([calls, say('done')]);
  await testbed.work({ agents: [agent], providers: { scripted }, secrets });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });

  const [step] = await run.steps();
  const results = step?.toolCalls.map(({ result, isError }) => [result, isError]) ?? [];
  expect(results[0]).toEqual(['Echo: near', false]);
  expect(results[1]).toEqual(['Echo: far', false]);
  expect(JSON.stringify(results[2])).toContain('[secret \\"crm-token\\"]');
  expect(JSON.stringify(results[3])).toContain('image/png');
  expect(results[4]).toEqual(['All is well.', false]);
  expect(results[5]).toEqual([expect.stringContaining('Access denied'), true]);

  const history = await historyOf(testbed, run);
  const types = history.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? []);
  expect(types).toEqual(expect.arrayContaining(['local_echo', 'remote_echo', 'get-env', 'get-tiny-image', 'read_text_file']));
  expect(clearText(history)).toContain('Echo: far');
  expect(clearText(history)).not.toContain(TOKEN);
  expect(proxy.headers.at(-1)?.authorization).toBe(`Bearer ${TOKEN}`);

  await testbed.stopWorkers();
  expect(isRunning(Number(readFileSync(pids, 'utf8').trim().split('\n').at(-1)))).toBe(false);
  const replayer = new Replayer({ worker: { workflowBundle: { codePath: inject('workflowBundlePath') } } });
  expect(await replayer.replay(run.runId, history)).toEqual({ type: 'ok' });
  await replayer.close();
});

test('a call with effect `once` is not repeated if its server dies, and the model reads that its outcome is unknown', async () => {
  const pids = join(directory, 'pids-of-once');
  const agent = defineAgent({
    name: 'clerk',
    model: 'scripted/m',
    mcp: [mcpServer({ name: 'local', ...startedServer(pids), effect: 'once' })],
  });
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('trigger-long-running-operation', { duration: 600, steps: 6000 }), say('told')]);
  await testbed.work({ agents: [agent], providers: { scripted }, heartbeatEvery: 200 });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });

  const workflow = testbed.client.temporal.workflow.getHandle(run.runId);
  let progress = '';
  await until(async () => {
    const { raw } = await workflow.describe();
    progress = String(raw.pendingActivities?.[0]?.heartbeatDetails?.payloads?.[0]?.data ?? '');
    return progress !== '';
  }, 'the progress of the call');
  expect(JSON.parse(progress)).toMatchObject({ progress: expect.any(Number), total: 6000 });

  process.kill(Number(readFileSync(pids, 'utf8').trim().split('\n').at(-1)), 'SIGKILL');
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'told' });
  expect(await run.steps()).toMatchObject([{ toolCalls: [{ isError: true, result: expect.stringMatching(/unknown|nobody knows/i) }] }, {}]);
  expect(scripted.requests).toHaveLength(2);
});

test('the agent of the example reads its reports, and a write waits for approval', async () => {
  await using testbed = await Testbed.open();
  const path = join(reports, 'january.txt');
  const reading = scriptedModel([
    callTool('read_text_file', { path }),
    callTool('write_file', { path, content: '' }, 'c1'),
    say('1,204 orders.'),
  ]);
  await testbed.work({ agents, providers: { openai: reading } });
  const run = await testbed.client.start(reporter, { input: 'How many orders came in January?', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the write waits');
  expect((await run.approvals()).pending).toMatchObject([{ toolName: 'write_file', reason: `would write ${JSON.stringify(path)}` }]);
  await run.reject('c1', { reason: 'the reports stay as they are' });
  expect(await run.result()).toMatchObject({ status: 'completed', output: '1,204 orders.' });
  expect((await run.steps())[0]?.toolCalls).toMatchObject([{ toolName: 'read_text_file', result: readFileSync(path, 'utf8') }]);
});

test("the omissions from a server's tools are in the record of the run, across executions and without a worker", async () => {
  const tool = { name: 'say', inputSchema: { type: 'object', properties: { text: { type: 'string' } } } };
  await using odd = await OddServer.start({
    'tools/list': () => ({ tools: [tool, { name: 'bad', inputSchema: [1] }], nextCursor: null }),
    'tools/call': () => ({ content: [{ type: 'hologram', text: 'said' }], _meta: null }),
  });
  const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', mcp: [mcpServer({ name: 'odd', url: odd.url })] });
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('say', {}), callTool('say', {}), say('done')]);
  await testbed.work({ agents: [clerk], providers: { scripted }, continueAsNew: { events: 5 } });
  const run = await testbed.client.start(clerk, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
  const message = 'MCP server "odd": tool "bad" is left out: its input schema is a list instead of an object';
  const live = await Array.fromAsync(run.events());
  expect(live.flatMap(({ notices = [] }) => notices)).toEqual([{ code: 'tool_adapted', message }]);
  expect(live.map(({ author }) => author)).toEqual(['user', 'clerk', 'clerk', 'clerk', 'clerk', 'clerk', 'clerk']);
  await testbed.stopWorkers();
  expect(await Array.fromAsync(run.events())).toEqual(live);
});
