import { expect, test, vi } from 'vitest';
import { defineAgent } from '../../../src/index.ts';
import { createHandler, type HandlerOptions } from '../../../src/server/index.ts';
import { clientWithRun, send } from '../requests.ts';
import { type FakeRun, FakeRuns, type Generation, mcpClient } from './fake-runs.ts';

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m' });
const GENERATIONS: [name: string, generation: Generation][] = [
  ['of 2025', 'legacy'],
  ['of 2026', 'auto'],
];

function served(acted: (run: FakeRun) => void, options: HandlerOptions = {}) {
  const runs = new FakeRuns(acted);
  return {
    runs,
    handler: createHandler(runs.client, {
      agents: [clerk],
      authenticate: () => ({ id: 'ops', principal: 'all', scopes: ['runs:write'] }),
      ...options,
    }),
  };
}

const call = { name: 'clerk', arguments: { input: 'Q' } };

test('a run that waits for a decision for too long continues, and the call says so with its id', async () => {
  const { runs, handler } = served(
    (run) => {
      run.pending = [{ toolName: 'refund' }];
      run.shows({ type: 'status', status: 'pending_confirmation' });
    },
    { mcp: { maxDecisionWait: 5 }, prefix: '/api' },
  );
  await using client = await mcpClient((request) => handler(new Request(request.url.replace('/mcp', '/api/mcp'), request)), 'auto');
  const result = await client.callTool(call);
  const { runId } = runs.only;
  expect(result).toMatchObject({
    isError: true,
    content: [
      {
        text:
          `The run "${runId}" continues: it waits for a person to decide about refund. Do not give the task again. ` +
          `For its result, read "/api/v1/runs/${runId}/result"`,
      },
    ],
    _meta: { 'longhaul/runId': runId, 'longhaul/status': 'pending_confirmation' },
  });
  expect(runs.only.cancelled).toEqual([]);
});

test('a call that waits for too long ends, and its key is the way back', async () => {
  const { handler } = served(() => undefined, { mcp: { maxWait: 5 } });
  await using client = await mcpClient(handler, 'legacy');
  const result = await client.callTool({ ...call, _meta: { 'longhaul/idempotencyKey': 'k' } });
  expect(JSON.stringify(result.content)).toContain('it has not ended yet');
  expect(JSON.stringify(result.content)).toContain('call again with the same');
});

test.each(GENERATIONS)('calls of a client %s are answered if the service is about to end', async (_, generation) => {
  const closing = new AbortController();
  const { runs, handler } = served(() => undefined, { closing: closing.signal });
  await using client = await mcpClient(handler, generation);
  const calling = client.callTool(call);
  await vi.waitFor(() => expect(runs.only.readers).toBe(1));
  closing.abort();
  expect(await calling).toMatchObject({ isError: true, _meta: { 'longhaul/runId': runs.only.runId } });
  expect(runs.only.cancelled).toEqual([]);
});

test('a call ends with the credentials of its caller, and the run continues', async () => {
  const { runs, handler } = served(() => undefined, {
    authenticate: () => ({ id: 'ops', principal: 'all', scopes: ['runs:write'], expiresAt: Date.now() + 100 }),
  });
  await using client = await mcpClient(handler, 'auto');
  expect(await client.callTool(call)).toMatchObject({ isError: true, _meta: { 'longhaul/status': 'running' } });
  expect(runs.only).toMatchObject({ cancelled: [], readers: 0 });
});

test('a client of 2025 that cancels a call cancels its run', async () => {
  const { runs, handler } = served(() => undefined);
  await using client = await mcpClient(handler, 'legacy');
  const user = new AbortController();
  const calling = client.callTool(call, { signal: user.signal });
  await vi.waitFor(() => expect(runs.only.readers).toBe(1));
  user.abort('the user has pressed stop');
  await expect(calling).rejects.toThrow('the user has pressed stop');
  await vi.waitFor(() => expect(runs.only.cancelled).toEqual([['cancelled over MCP: the user has pressed stop', { by: 'ops' }]]));
});

test('a run that begins after its call was cancelled is cancelled', async () => {
  const { runs, handler } = served(() => undefined);
  const [sent, arrives] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  // The call is slow on its way.
  await using client = await mcpClient(async (request) => {
    if ((await request.clone().text()).includes('tools/call')) {
      sent.resolve();
      await arrives.promise;
    }
    return handler(request);
  }, 'legacy');
  const user = new AbortController();
  const calling = client.callTool(call, { signal: user.signal });
  await sent.promise;
  user.abort('stop');
  await expect(calling).rejects.toThrow('stop');
  arrives.resolve();
  await vi.waitFor(() => expect(runs.only.cancelled).toHaveLength(1));
});

test.each(GENERATIONS)('the timeout of a client %s leaves the run alone', async (_, generation) => {
  const { runs, handler } = served(() => undefined);
  const seen: Request[] = [];
  await using client = await mcpClient(handler, generation, seen);
  await expect(client.callTool(call, { timeout: 50 })).rejects.toThrow('timed out');
  const bodies = await Promise.all(seen.map((request) => request.text()));
  // A client of 2025 sends the same notification as one whose user cancels, and one of 2026 closes its request.
  expect(bodies.some((body) => body.includes('notifications/cancelled'))).toBe(generation === 'legacy');
  await vi.waitFor(() => expect(runs.only.readers).toBe(generation === 'legacy' ? 1 : 0));
  expect(runs.only.cancelled).toEqual([]);
});

test('a client of 2026 that cancels closes its request, and the run continues', async () => {
  const { runs, handler } = served(() => undefined);
  await using client = await mcpClient(handler, 'auto');
  const user = new AbortController();
  const calling = client.callTool(call, { signal: user.signal });
  await vi.waitFor(() => expect(runs.only.readers).toBe(1));
  user.abort('stop');
  await expect(calling).rejects.toThrow('stop');
  await vi.waitFor(() => expect(runs.only.readers).toBe(0));
  expect(runs.only.cancelled).toEqual([]);
});

test.each(GENERATIONS)('a client %s cancels a run by its id, or by the key of its call', async (_, generation) => {
  const { runs, handler } = served(() => undefined);
  await using client = await mcpClient(handler, generation);
  const calling = client.callTool({ ...call, _meta: { 'longhaul/idempotencyKey': 'k' } });
  await vi.waitFor(() => expect(runs.only.readers).toBe(1));
  const cancel = (meta: Record<string, string>): Promise<void> =>
    client.notification({ method: 'notifications/cancelled', params: { requestId: 'x', _meta: meta } });
  await cancel({ 'longhaul/runId': 'another' });
  await cancel({ 'longhaul/idempotencyKey': 'other' });
  expect(runs.only.cancelled).toEqual([]);
  await cancel({ 'longhaul/idempotencyKey': 'k' });
  expect(await calling).toMatchObject({ isError: true, content: [{ text: 'The run was cancelled: cancelled over MCP' }] });
  await cancel({ 'longhaul/runId': runs.only.runId });
  expect(runs.only.cancelled).toHaveLength(2);
});

test('a client that goes away leaves its run alone', async () => {
  const { runs, handler } = served(() => undefined);
  const client = await mcpClient(handler, 'legacy');
  const calling = client.callTool(call);
  await vi.waitFor(() => expect(runs.only.readers).toBe(1));
  await client.close();
  await expect(calling).rejects.toThrow('losed');
  await vi.waitFor(() => expect(runs.only.readers).toBe(0));
  expect(runs.only.cancelled).toEqual([]);
});

test('each call counts as a start, and as a stream while it waits', async () => {
  const { runs, handler } = served((run) => run.ends({}), { limits: { starts: { count: 2, per: '1h' }, streams: 1 } });
  await using client = await mcpClient(handler, 'auto');
  expect((await client.callTool(call)).isError).toBeUndefined();
  expect((await client.callTool(call)).isError).toBeUndefined();
  const refused = await client.callTool(call);
  expect(refused).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('too_many_requests') as string }] });
  expect(runs.started).toHaveLength(2);
});

test('a call that waits leaves no place for another if the caller may have one', async () => {
  const { runs, handler } = served(() => undefined, { limits: { streams: 1 } });
  await using client = await mcpClient(handler, 'auto');
  const waiting = client.callTool(call);
  await vi.waitFor(() => expect(runs.only.readers).toBe(1));
  expect((await client.callTool(call)).isError).toBe(true);
  runs.only.ends({});
  expect((await waiting).isError).toBeUndefined();
});

test.each([1, 16, 17, 1_000])('a request with %i cancellations cancels at most 16 runs', async (count) => {
  const cancelled: string[] = [];
  const client = clientWithRun({}, { handle: (runId: string) => ({ cancel: async () => cancelled.push(runId) }) });
  const meta = (index: number): object => ({ 'longhaul/runId': `run-${index}` });
  const messages = Array.from({ length: count }, (_, index) => ({
    jsonrpc: '2.0',
    method: 'notifications/cancelled',
    params: { requestId: index, _meta: meta(index) },
  }));
  const headers = { accept: 'application/json, text/event-stream' };
  await send(createHandler(client, { agents: [clerk] }), 'POST', '/mcp', { body: messages, headers });
  expect(cancelled).toHaveLength(count > 16 ? 0 : count);
});
