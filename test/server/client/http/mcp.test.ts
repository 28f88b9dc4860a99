import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { serve } from '@hono/node-server';
import { expect, test, vi } from 'vitest';
import { z } from 'zod';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { defineAgent, mcpServer } from '../../../../src/index.ts';
import { createHandler, type Handler, type HandlerOptions } from '../../../../src/server/index.ts';
import { callTool, hang, say, scriptedModel, type ScriptEntry } from '../../../../src/testing/index.ts';
import { type Generation, mcpClient } from '../../../server-http/mcp/fake-runs.ts';
import { clerk } from '../../approvals/decision-agents.ts';
import { assistant } from '../../testbed/agents.ts';
import { Testbed } from '../../testbed/testbed.ts';

const counter = defineAgent({ name: 'counter', model: 'scripted/m', output: z.object({ total: z.number() }) });
const agents = [assistant, clerk, counter];

const GENERATIONS: [name: string, generation: Generation][] = [
  ['of 2025', 'legacy'],
  ['of 2026', 'auto'],
];

/** A service and a worker with a scripted model. */
async function service(testbed: Testbed, entries: ScriptEntry[], options: HandlerOptions = {}): Promise<Handler> {
  await testbed.work({ agents, providers: { scripted: scriptedModel(entries) } });
  return serviceOf(testbed, options);
}

function serviceOf(testbed: Testbed, options: HandlerOptions = {}): Handler {
  return createHandler(new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue }), { agents, ...options });
}

function runOf({ _meta }: { _meta?: Record<string, unknown> | undefined }): string {
  return String(_meta?.['longhaul/runId']);
}

test.each(GENERATIONS)('a client %s calls an agent, follows it, and reads its run', async (_, generation) => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [callTool('search', { query: 'x' }), say('Here it is')]);
  await using client = await mcpClient(handler, generation);
  const messages: unknown[] = [];
  const result = await client.callTool(
    { name: 'assistant', arguments: { input: 'Find x' } },
    { onprogress: ({ message }) => messages.push(message) },
  );
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'Here it is' }], _meta: { 'longhaul/status': 'completed' } });
  expect(messages[0]).toBe(`The run "${runOf(result)}" has begun`);
  expect(messages).toContain('The agent calls search');
  expect(messages.filter((message) => String(message).startsWith('Step'))).toEqual(['Step 1 is done', 'Step 2 is done']);
  expect(await testbed.client.handle(runOf(result)).result()).toMatchObject({ status: 'completed', agentName: 'assistant' });
});

test('an agent with an output schema answers with structured content', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('{"total":3}')]);
  await using client = await mcpClient(handler, 'auto');
  await client.listTools();
  expect(await client.callTool({ name: 'counter', arguments: { input: 'Count' } })).toMatchObject({ structuredContent: { total: 3 } });
});

test('a call that is resent with its key, to another instance, is one run; with other arguments it is refused', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('Once'), say('Twice')]);
  const key = { _meta: { 'longhaul/idempotencyKey': randomUUID() } };
  const results = await Promise.all(
    [handler, serviceOf(testbed)].map(async (instance) => {
      await using client = await mcpClient(instance, 'auto');
      const result = await client.callTool({ name: 'assistant', arguments: { input: 'Q' }, ...key });
      return result;
    }),
  );
  expect(results.map(({ content }) => content)).toEqual([[{ type: 'text', text: 'Once' }], [{ type: 'text', text: 'Once' }]]);
  expect(new Set(results.map(runOf)).size).toBe(1);
  await using client = await mcpClient(handler, 'auto');
  const other = await client.callTool({ name: 'assistant', arguments: { input: 'Another' }, ...key });
  expect(other).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('key_reused') as string }] });
});

test("a cancelled call cancels the run on any instance, and another principal's call cannot be cancelled", async () => {
  await using testbed = await Testbed.open();
  const as = (user: string): HandlerOptions => ({
    authenticate: () => ({ id: user, scopes: ['runs:write'], principal: { tenant: 'acme', user } }),
  });
  const handler = await service(testbed, [hang()], as('anna'));
  // Each request goes to another instance.
  const others = [handler, serviceOf(testbed, as('anna'))];
  let requests = 0;
  await using client = await mcpClient((request) => others[(requests += 1) % 2]?.(request) ?? handler(request), 'legacy');
  const user = new AbortController();
  const progress = vi.fn<(one: { message?: string | undefined }) => void>();
  const calling = client.callTool({ name: 'assistant', arguments: { input: 'Q' } }, { signal: user.signal, onprogress: progress });
  calling.catch(() => undefined);
  await vi.waitFor(() => expect(progress).toHaveBeenCalled());
  const runId = /"(.+)"/.exec(String(progress.mock.calls[0]?.[0].message))?.[1] ?? '';
  await using foreign = await mcpClient(serviceOf(testbed, as('ben')), 'legacy');
  const params = { requestId: 'x', _meta: { 'longhaul/runId': runId } };
  await foreign.notification({ method: 'notifications/cancelled', params });
  const { temporal } = testbed.client;
  const own = new LonghaulClient(temporal, { taskQueue: testbed.taskQueue }).as({ tenant: 'acme', user: 'anna' });
  expect((await own.handle(runId).status()).status).toBe('running');
  user.abort('stop');
  await expect(calling).rejects.toThrow('stop');
  expect(await own.handle(runId).result()).toMatchObject({ status: 'cancelled', cancelReason: 'cancelled over MCP: stop (anna)' });
});

test('a run that waits for an approval continues without its call, and its key finds the result after the decision', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [callTool('refund', { amount: 5 }), say('Paid')], { mcp: { maxDecisionWait: 1 } });
  await using client = await mcpClient(handler, 'auto');
  const call = { name: 'clerk', arguments: { input: 'Refund me' }, _meta: { 'longhaul/idempotencyKey': randomUUID() } };
  const messages: unknown[] = [];
  const waiting = await client.callTool(call, { onprogress: ({ message }) => messages.push(message) });
  expect(waiting).toMatchObject({ isError: true, _meta: { 'longhaul/status': 'pending_confirmation' } });
  expect(messages).toContain('The run waits for a person to decide about refund');
  const run = testbed.client.handle(runOf(waiting));
  const [pending] = (await run.approvals()).pending;
  if (pending === undefined) throw new Error('Nothing waits');
  await run.approve(pending);
  await run.result();
  await using later = await mcpClient(serviceOf(testbed), 'legacy');
  expect(await later.callTool(call)).toMatchObject({ content: [{ type: 'text', text: 'Paid' }], _meta: { 'longhaul/runId': run.runId } });
});

test('an agent of Longhaul calls another one over MCP, as a tool whose schema is pinned', async () => {
  await using testbed = await Testbed.open();
  const handler = await service(testbed, [say('{"total":3}')]);
  const server = serve({ fetch: handler, port: 0, hostname: '127.0.0.1' });
  try {
    await vi.waitFor(() => expect(server.address()).not.toBeNull());
    const { port } = server.address() as AddressInfo;
    const desk = mcpServer({ name: 'desk', url: `http://127.0.0.1:${port}/mcp`, effect: 'idempotent' });
    const asking = defineAgent({ name: 'asking', model: 'asking/m', mcp: [desk] });
    await using other = await Testbed.open();
    const entries = [callTool('counter', { input: 'Count' }), say('Three')];
    await other.work({ agents: [asking], providers: { asking: scriptedModel(entries) } });
    const run = await other.client.start(asking, { input: 'How many?', taskQueue: other.taskQueue });
    const result = await run.result({ steps: true });
    expect(result).toMatchObject({ status: 'completed', output: 'Three' });
    expect(result.steps?.[0]?.toolCalls).toMatchObject([{ toolName: 'counter', isError: false, result: '{"total":3}' }]);
  } finally {
    server.close();
  }
});
