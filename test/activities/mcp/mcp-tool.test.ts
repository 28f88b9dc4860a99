import type { Tool } from '@modelcontextprotocol/client';
import { expect, test } from 'vitest';
import type { McpOutcome } from '../../../activities/mcp/call-outcome.ts';
import { mcpToolDefinition, type PinnedTool } from '../../../activities/mcp/mcp-tool.ts';
import type { McpRequest } from '../../../activities/mcp/mcp-connection.ts';
import type { McpPool } from '../../../activities/mcp/mcp-pool.ts';
import { UnknownOutcome } from '../../../activities/tool-calls/execute-tool.ts';
import { mcpServer, type McpServerOptions } from '../../../src/define/mcp.ts';
import { isToolFailure } from '../../../src/define/tool-definition.ts';
import type { JsonObject } from '../../../src/core/domain/json.ts';
import { fakeContext } from '../../fakes/run-context.ts';

const tools: Tool[] = [{ name: 'deals/get', inputSchema: { type: 'object', properties: { id: { type: 'number' } }, required: ['id'] } }];

/** A pool with a server that has these tools and gives these answers. */
function poolOf(outcome: McpOutcome, current = tools): { pool: Pick<McpPool, 'call'>; requests: McpRequest[] } {
  const requests: McpRequest[] = [];
  const call: McpPool['call'] = async (_, request, check) => {
    const problem = check(current);
    if (problem !== undefined) return { type: 'refused', message: problem };
    requests.push(request);
    return outcome;
  };
  return { pool: { call }, requests };
}

const server = mcpServer({ name: 'crm', command: 'unused' });
const pinned: PinnedTool = { name: 'deals_get', tool: 'deals/get', once: false };
const DONE: McpOutcome = { type: 'answered', result: { content: [{ type: 'text', text: 'done' }] } };

async function execute(
  outcome: McpOutcome,
  { args = { id: 1 }, current = tools, once = false }: { args?: JsonObject; current?: Tool[]; once?: boolean } = {},
): Promise<unknown> {
  const { pool } = poolOf(outcome, current);
  return mcpToolDefinition(pool, server, { ...pinned, once }).execute(args as never, fakeContext() as never);
}

test("a call goes to the tool under the server's name for it, with the key and the signal of the call", async () => {
  const { pool, requests } = poolOf(DONE);
  const context = fakeContext();
  const result = await mcpToolDefinition(pool, server, pinned).execute({ id: 1 } as never, context as never);
  expect(result).toMatchObject({ kind: 'longhaul.tool_output', content: ['done'], isError: false });
  expect(requests).toMatchObject([{ tool: 'deals/get', args: { id: 1 }, idempotencyKey: context.idempotencyKey, signal: context.signal }]);
});

test('progress becomes a heartbeat of bounded length, and data for readers', async () => {
  const { pool, requests } = poolOf(DONE);
  const heartbeats: unknown[] = [];
  const emitted: unknown[] = [];
  const emit = (...given: unknown[]): void => void emitted.push(given);
  const context = { ...fakeContext(), emit, heartbeat: (details: unknown) => heartbeats.push(details) };
  await mcpToolDefinition(pool, server, pinned).execute({ id: 1 } as never, context as never);
  requests[0]?.onProgress({ progress: 1, total: 4, message: 'x'.repeat(1_000) });
  expect(heartbeats).toEqual([{ progress: 1, total: 4, message: 'x'.repeat(500) }]);
  expect(emitted).toEqual([['progress', heartbeats[0]]]);
});

test('a refusal of the server is a failure that is not tried again', async () => {
  const failing = execute({ type: 'refused', message: 'no such deal' });
  await expect(failing).rejects.toThrow('no such deal');
  await expect(failing).rejects.toSatisfy(isToolFailure);
});

test('a call of a removed tool fails with an error that says so', async () => {
  await expect(execute(DONE, { current: [] })).rejects.toThrow(
    'MCP server "crm" has no tool "deals/get" any more: it was removed since this run began',
  );
});

test('a call whose arguments a changed tool no longer accepts fails with an error that says so', async () => {
  const current: Tool[] = [
    { name: 'deals/get', inputSchema: { type: 'object', properties: { key: { type: 'string' } }, required: ['key'] } },
  ];
  await expect(execute(DONE, { current })).rejects.toThrow(
    'MCP server "crm" has changed the arguments of "deals/get" since this run began, and these do not fit: missing required field "key"',
  );
});

test('a changed tool that accepts the arguments is called', async () => {
  const current: Tool[] = [
    { name: 'deals/get', description: 'Another', inputSchema: { type: 'object', properties: { id: {}, more: { type: 'string' } } } },
  ];
  expect(await execute(DONE, { current })).toMatchObject({ content: ['done'] });
});

test('a call that was not sent is an ordinary failure, even with effect `once`', async () => {
  for (const once of [false, true]) {
    const failing = execute({ type: 'not_sent', message: 'HTTP 429' }, { once });
    await expect(failing).rejects.toThrow('MCP server "crm" did not get the call: HTTP 429');
    await expect(failing).rejects.not.toBeInstanceOf(UnknownOutcome);
  }
});

test('a lost call may be tried again; with effect `once`, its outcome is unknown', async () => {
  const lost: McpOutcome = { type: 'lost', message: 'connection closed' };
  await expect(execute(lost)).rejects.not.toBeInstanceOf(UnknownOutcome);
  await expect(execute(lost, { once: true })).rejects.toBeInstanceOf(UnknownOutcome);
});

test('an approval predicate of the server gets the tool and the arguments', async () => {
  const options: McpServerOptions = {
    name: 'crm',
    command: 'unused',
    approval: { when: ({ tool, args }) => tool === 'deals/get' && args['id'] === 1, deadline: '1h' },
  };
  const { approval } = mcpToolDefinition(poolOf(DONE).pool, mcpServer(options), pinned);
  const when = approval?.when;
  expect(approval).toMatchObject({ deadlineMs: 3_600_000 });
  if (typeof when !== 'function') throw new Error('no predicate');
  expect([when({ id: 1 } as never, {} as never), when({ id: 2 } as never, {} as never)]).toEqual([true, false]);
});
