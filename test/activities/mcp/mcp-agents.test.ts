import { expect, test } from 'vitest';
import { z } from 'zod';
import { approvalRequirements } from '../../../activities/approvals/approvals.ts';
import { McpConnection } from '../../../activities/mcp/mcp-connection.ts';
import { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import { resolveAgentActivity } from '../../../activities/agents/resolve-agent.ts';
import { runToolActivity } from '../../../activities/tool-calls/run-tool.ts';
import { SecretVault } from '../../../activities/secret-vault.ts';
import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import { LonghaulError } from '../../../src/core/domain/errors.ts';
import { type AgentOptions, defineAgent, defineTool, mcpServer, type McpServerOptions } from '../../../src/index.ts';
import type { RunToolInput } from '../../../src/core/protocol.ts';
import { type ActivityEnvironment, activityEnvironment, type EnvironmentOptions } from '../activity-environment.ts';
import { MemoryServer, type MemoryTool } from './memory-server.ts';

const search = defineTool({ name: 'search', description: 'Searches', parameters: z.object({}), execute: () => 'found' });

/** An agent with an MCP server with these tools, in a separate environment. */
function environmentOf(
  tools: MemoryTool[],
  options: Partial<McpServerOptions> = {},
  agent: Partial<AgentOptions<never, never>> = {},
  more: EnvironmentOptions = {},
): ActivityEnvironment & { server: MemoryServer } {
  const server = new MemoryServer(tools);
  const crm = mcpServer({ name: 'crm', command: 'unused', ...options });
  const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [search], mcp: [crm], ...agent });
  const mcp = new McpPool((_, stop) => McpConnection.open(server.link(), stop));
  return { ...activityEnvironment({ agents: [clerk], mcp, ...more }), server };
}

async function resolved(environment: ActivityEnvironment): Promise<AgentSnapshot> {
  return environment.run(resolveAgentActivity(environment.runtime), { agent: 'clerk' });
}

/** Calls the tool `unknown`, which is the name of the activity in these tests. */
const input: RunToolInput = {
  agentName: 'clerk',
  callId: 'c1',
  step: 1,
  at: [0, 0],
  eventId: 'e0',
  arguments: { id: 1 },
  timeoutMs: 60_000,
  mcp: { server: 'crm', tool: 'deals/get' },
};

test("a run begins with the agent's own tools and its servers' tools", async () => {
  const snapshot = await resolved(environmentOf([{ name: 'put' }, { name: 'get' }]));
  expect(snapshot.tools.map(({ name, mcp }) => [name, mcp])).toEqual([
    ['search', undefined],
    ['get', { server: 'crm', tool: 'get' }],
    ['put', { server: 'crm', tool: 'put' }],
  ]);
});

test('the same tools give the same snapshot, in any order of the list', async () => {
  const [one, other] = await Promise.all([
    resolved(environmentOf([{ name: 'a' }, { name: 'b' }])),
    resolved(environmentOf([{ name: 'b' }, { name: 'a' }])),
  ]);
  expect(one.digest).toBe(other.digest);
});

test('no tool of a server gets the name of a tool of the agent, of Longhaul, or of an activity of the worker', async () => {
  const environment = environmentOf(
    ['search', 'callModel', 'final_answer', 'default', 'greet', 'free'].map((name) => ({ name })),
    {},
    {},
    { otherActivities: new Set(['greet']) },
  );
  const { tools } = await resolved(environment);
  expect(tools.map(({ name }) => name)).toEqual([
    'search',
    'crm_callModel',
    'crm_default',
    'crm_final_answer',
    'crm_greet',
    'crm_search',
    'free',
  ]);
});

test("if a server cannot be reached, the start fails with the server's name and is retried", async () => {
  const mcp = new McpPool(() => Promise.reject(new LonghaulError('mcp_unreachable', 'MCP server "crm" cannot be reached: ECONNREFUSED')));
  await expect(resolved(environmentOf([], {}, {}, { mcp }))).rejects.toMatchObject({
    type: 'mcp_unreachable',
    nonRetryable: false,
    message: 'MCP server "crm" cannot be reached: ECONNREFUSED',
  });
});

test("secrets that a server was given are removed from its tools' texts", async () => {
  const secrets = new SecretVault(() => 'value-of-the-crm-token');
  await secrets.resolve('crm-token');
  const { tools } = await resolved(environmentOf([{ name: 'get', description: 'With value-of-the-crm-token' }], {}, {}, { secrets }));
  expect(tools[1]).toMatchObject({ description: 'With [secret "crm-token"]' });
});

test('settings and limits may name a tool of a server', async () => {
  const named = { settings: { toolChoice: { tool: 'get' } }, limits: { toolCallsByName: { get: 1 } } };
  expect(await resolved(environmentOf([{ name: 'get' }], {}, named))).toMatchObject({ settings: named.settings, limits: named.limits });
});

test.each([
  ['settings.toolChoice', { settings: { toolChoice: { tool: 'got' } } }],
  ['limits.toolCallsByName', { limits: { toolCallsByName: { got: 1 } } }],
])('a tool that neither the agent nor its servers have is refused under "%s"', async (option, named) => {
  await expect(resolved(environmentOf([{ name: 'get' }], {}, named))).rejects.toMatchObject({
    type: 'invalid_agent',
    message: `"${option}" of agent "clerk" names the tool "got", which neither it nor an MCP server of it has (it has: "search", "get")`,
  });
});

test('the server answers a call, and secrets are removed from the result', async () => {
  const secrets = new SecretVault(() => 'value-of-the-crm-token');
  await secrets.resolve('crm-token');
  const text = 'deal 1, by value-of-the-crm-token';
  const environment = environmentOf([{ name: 'deals/get', answer: () => ({ content: [{ type: 'text', text }] }) }], {}, {}, { secrets });
  const output = await environment.run(runToolActivity(environment.runtime), input);
  expect(output).toMatchObject({ content: ['deal 1, by [secret "crm-token"]'] });
  expect(environment.server.calls).toMatchObject([{ params: { name: 'deals/get', arguments: { id: 1 } } }]);
});

test('a result has the budget of its server', async () => {
  const environment = environmentOf([{ name: 'deals/get', answer: () => ({ content: [{ type: 'text', text: 'x'.repeat(5_000) }] }) }], {
    maxResultBytes: 1_000,
  });
  const output = await environment.run(runToolActivity(environment.runtime), input);
  expect(JSON.stringify(output.content).length).toBeLessThanOrEqual(1_000);
  expect(output.content[0]).toContain('[Cut:');
});

test('Temporal tries a lost call again', async () => {
  const environment = environmentOf(
    [{ name: 'deals/get', answer: () => 'hang' }],
    {},
    {},
    { info: { retryPolicy: { maximumAttempts: 3 } } },
  );
  const calling = environment.run(runToolActivity(environment.runtime), input);
  void untilCalled(environment.server).then(() => environment.server.die());
  await expect(calling).rejects.toMatchObject({
    type: 'tool_failed',
    nonRetryable: false,
    message: expect.stringContaining('MCP server "crm" did not answer the call'),
  });
});

test('a lost call with effect `once` has an unknown outcome', async () => {
  const environment = environmentOf([{ name: 'deals/get', answer: () => 'hang' }]);
  const calling = environment.run(runToolActivity(environment.runtime), {
    ...input,
    mcp: { server: 'crm', tool: 'deals/get', once: true },
  });
  void untilCalled(environment.server).then(() => environment.server.die());
  expect(await calling).toMatchObject({ lost: true });
  expect(environment.server.calls).toHaveLength(1);
});

test('a call that was never sent has failed, even with effect `once`', async () => {
  const mcp = new McpPool(() => Promise.reject(new LonghaulError('mcp_unreachable', 'MCP server "crm" cannot be reached: ECONNREFUSED')));
  const environment = environmentOf([], {}, {}, { mcp });
  const output = await environment.run(runToolActivity(environment.runtime), {
    ...input,
    mcp: { server: 'crm', tool: 'deals/get', once: true },
  });
  expect(output).toMatchObject({ isError: true, content: ['MCP server "crm" cannot be reached: ECONNREFUSED'] });
});

test('a call of a server that this worker lacks is left to another worker', async () => {
  const environment = environmentOf([]);
  const called = environment.run(runToolActivity(environment.runtime), { ...input, mcp: { server: 'erp', tool: 'get' } });
  await expect(called).rejects.toMatchObject({ type: 'unknown_tool', message: expect.stringContaining('No MCP server "erp"') });
});

test('the approval predicate of a server decides which of its calls wait', async () => {
  const environment = environmentOf([{ name: 'deals/close' }], {
    approval: ({ tool, args }) => tool === 'deals/close' && args['id'] === 1 && { reason: 'a large deal' },
  });
  const snapshot = await resolved(environment);
  const calls = [1, 2].map((id) => ({ type: 'tool_call' as const, toolCallId: `c${id}`, name: 'deals_close', arguments: { id } }));
  const data = { data: { deps: {}, state: {} } };
  const asked = activityEnvironment({ ...environment.runtime, agents: [], answers: data, registry: environment.runtime.registry });
  const deciding = { runtime: environment.runtime, run: {}, snapshot, signal: new AbortController().signal };
  const usage = { inputTokens: 0, outputTokens: 0, totalTokens: 0 };
  const terms = await asked.run(
    () => approvalRequirements(deciding, { id: 'e1', content: calls, finishReason: 'tool_calls', usage } as never),
    {},
  );
  expect(terms).toEqual({ c1: { digest: expect.any(String), reason: 'a large deal' } });
});

async function untilCalled(server: MemoryServer): Promise<void> {
  while (server.calls.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}
