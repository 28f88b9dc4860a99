import { afterEach, expect, test } from 'vitest';
import { resolveAgentActivity } from '../../../activities/agents/resolve-agent.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import { defineAgent, mcpServer, secret, type McpServerOptions } from '../../../src/index.ts';
import { callTool, say, scriptedModel, testAgent } from '../../../src/testing/index.ts';
import { activityEnvironment } from '../activity-environment.ts';
import { type Answers, OddServer, realPool } from './odd-server.ts';

const OK = { name: 'pay', description: 'Pays', inputSchema: { type: 'object', properties: { amount: { type: 'number' } } } };
const LEFT_OUT = 'MCP server "odd": tool "bad" is left out: its input schema is a list instead of an object';

let servers: OddServer[] = [];

afterEach(async () => {
  for (const server of servers.splice(0)) await server[Symbol.asyncDispose]();
});

async function serverOf(answers: Answers): Promise<OddServer> {
  const server = await OddServer.start(answers);
  servers.push(server);
  return server;
}

function clerkOf(url: string, options: Partial<McpServerOptions> = {}): ReturnType<typeof defineAgent> {
  return defineAgent({ name: 'clerk', model: 'scripted/m', mcp: [mcpServer({ name: 'odd', url, ...options })] });
}

test("the omissions from a server's tools are one event at the start of a run, which needs no model", async () => {
  const server = await serverOf({ 'tools/list': () => ({ tools: [{ name: 'bad', inputSchema: [1] }, { name: 'bare' }, OK] }) });
  const model = scriptedModel([callTool('pay', { amount: 5 }), say('done')]);
  const { events, result } = await testAgent(clerkOf(server.url), { input: 'x', model });
  expect(result.status).toBe('completed');
  expect(events.map(({ author, content, notices }) => [author, content.length, notices])).toEqual([
    ['user', 1, undefined],
    [
      'clerk',
      0,
      [
        { code: 'tool_adapted', message: LEFT_OUT },
        { code: 'tool_adapted', message: 'MCP server "odd": tool "bare" has no input schema: it takes any arguments' },
      ],
    ],
    ['clerk', 1, undefined],
    ['clerk', 1, undefined],
    ['clerk', 1, undefined],
  ]);
  expect(JSON.stringify(model.requests)).not.toContain('left out');
});

test('a run whose tools are all valid has no such event', async () => {
  const server = await serverOf({ 'tools/list': () => ({ tools: [OK] }) });
  const { events } = await testAgent(clerkOf(server.url), { input: 'x', model: scriptedModel([say('done')]) });
  expect(events.map(({ author, notices }) => [author, notices])).toEqual([
    ['user', undefined],
    ['clerk', undefined],
  ]);
});

test('the notices are next to the snapshot, and not part of its digest', async () => {
  const tools: unknown[] = [OK];
  const server = await serverOf({ 'tools/list': () => ({ tools }) });
  const mcp = realPool();
  const environment = activityEnvironment({ agents: [clerkOf(server.url)], mcp });
  const resolve = (): ReturnType<ReturnType<typeof resolveAgentActivity>> =>
    environment.run(resolveAgentActivity(environment.runtime), { agent: 'clerk' });
  const plain = await resolve();
  tools.push({ name: 'bad', inputSchema: [1] });
  const noted = await resolve();
  expect(plain).not.toHaveProperty('notices');
  expect(noted).toEqual({ ...plain, notices: [{ code: 'tool_adapted', message: LEFT_OUT }] });
  await mcp.close();
});

test('the worker logs each notice once, and a notice has no secret', async () => {
  const server = await serverOf({ 'tools/list': () => ({ tools: [OK, { name: 'tool-of-crm-secret-value', inputSchema: 5 }] }) });
  const lines: string[] = [];
  const secrets = new SecretVault(() => 'crm-secret-value');
  const mcp = realPool(secrets);
  const agent = clerkOf(server.url, { headers: { authorization: secret('crm') } });
  const environment = activityEnvironment({ agents: [agent], mcp, secrets });
  environment.runtime.logOnce = (line) => lines.push(line);
  const { notices } = await environment.run(resolveAgentActivity(environment.runtime), { agent: 'clerk' });
  const message = 'MCP server "odd": tool "tool-of-[secret "crm"]" is left out: its input schema is the number 5 instead of an object';
  expect(notices).toEqual([{ code: 'tool_adapted', message }]);
  expect(lines).toEqual([`Agent "clerk": ${message}`]);
  await mcp.close();
});

test('a server with many bad tools gets as many notices as an event may have', async () => {
  const bad = Array.from({ length: 200 }, (_, index) => ({ name: `bad-${index}`, inputSchema: 'x'.repeat(10_000) }));
  const server = await serverOf({ 'tools/list': () => ({ tools: [OK, ...bad] }) });
  const { events } = await testAgent(clerkOf(server.url), { input: 'x', model: scriptedModel([say('done')]) });
  expect(events[1]?.notices).toHaveLength(20);
  expect(events[1]?.notices?.at(-1)).toEqual({ code: 'tool_adapted', message: 'and 181 more' });
});

test.each<[string, unknown, unknown]>([
  [
    'breaks its output schema',
    { content: [{ type: 'text', text: 'paid' }], structuredContent: { id: 'seven' } },
    expect.stringContaining('does not fit the output schema'),
  ],
  ['has no structured content', { content: [{ type: 'text', text: 'paid' }] }, 'paid'],
  ['has a part of an unknown type', { content: [{ type: 'hologram', text: 'paid' }] }, 'paid'],
  ['has a part that is null', { content: [null, { type: 'text', text: 'paid' }] }, 'paid'],
  ['has no content', { structuredContent: null }, expect.stringContaining('has acted')],
  ['is a text', 'paid', 'paid'],
  ['is null', null, expect.stringContaining('has acted')],
  ['is a list', [{ type: 'text', text: 'paid' }], 'paid'],
  ['has _meta: null', { _meta: null, content: [{ type: 'text', text: 'paid', annotations: null, _meta: null }] }, 'paid'],
  [
    'has an image that cannot be read',
    {
      content: [
        { type: 'text', text: 'paid' },
        { type: 'image', data: '?', mimeType: 'image/png' },
      ],
    },
    expect.stringContaining('has acted'),
  ],
  ['has a null error next to it', { jsonrpc: '2.0', result: { content: [{ type: 'text', text: 'paid' }] }, error: null }, 'paid'],
  ['has isError: null', { content: [{ type: 'text', text: 'paid' }], isError: null }, 'paid'],
])('a call whose result %s has acted once: the model reads what can be read, and no error', async (_, result, read) => {
  const pay = { ...OK, outputSchema: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] } };
  const server = await serverOf({ 'tools/list': () => ({ tools: [pay] }), 'tools/call': () => result });
  const model = scriptedModel([callTool('pay', { amount: 5 }), say('done')]);
  const { steps, result: run } = await testAgent(clerkOf(server.url), { input: 'x', model });
  expect(run.status).toBe('completed');
  expect(steps[0]?.toolCalls).toMatchObject([{ isError: false, result: read }]);
  expect(server.count('tools/call')).toBe(1);
});
