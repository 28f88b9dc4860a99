import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent } from '../../../src/index.ts';
import { createHandler, type HandlerOptions } from '../../../src/server/index.ts';
import { newStep } from '../../../src/core/domain/tool-calls.ts';
import { calling, type FakeRun, FakeRuns, type Generation, mcpClient, step } from './fake-runs.ts';

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', description: 'Answers questions about orders.' });
const shop = z.object({ shop: z.string(), next: z.lazy((): z.ZodType => shop).optional() });
const auditor = defineAgent({
  name: 'the auditor',
  model: 'scripted/m',
  deps: shop,
  output: z.object({ total: z.number(), notes: z.array(z.string()) }),
});
const agents = [clerk, auditor];

function served(acted: (run: FakeRun) => void, options: HandlerOptions = {}) {
  const runs = new FakeRuns(acted);
  return { runs, handler: createHandler(runs.client, { agents, ...options }) };
}

const GENERATIONS: [name: string, generation: Generation, version: string][] = [
  ['of 2025', 'legacy', '2025-11-25'],
  ['of 2026', 'auto', '2026-07-28'],
];

test.each(GENERATIONS)('a client %s lists the agents with their schemas', async (_, generation, version) => {
  const { handler } = served(() => undefined);
  await using client = await mcpClient(handler, generation);
  expect(client.getNegotiatedProtocolVersion()).toBe(version);
  const { tools } = await client.listTools();
  expect(tools).toMatchObject([
    {
      name: 'clerk',
      description: 'Answers questions about orders.',
      inputSchema: { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] },
    },
    {
      name: 'the_auditor',
      title: 'the auditor',
      description: 'Gives a task to the agent "the auditor" and returns its answer.',
      inputSchema: {
        properties: { deps: { type: 'object', properties: { next: { $ref: '#/properties/deps' } } } },
        required: ['input', 'deps'],
      },
      outputSchema: { type: 'object', required: ['total', 'notes'] },
    },
  ]);
  expect(tools[0]).not.toHaveProperty('outputSchema');
});

test.each(GENERATIONS)('a call of a client %s returns the answer as text, and names the run', async (_, generation) => {
  const { runs, handler } = served((run) => run.ends({ output: 'It was sent.' }));
  await using client = await mcpClient(handler, generation);
  const result = await client.callTool({ name: 'clerk', arguments: { input: 'Where is it?' } });
  expect(result).toMatchObject({ content: [{ type: 'text', text: 'It was sent.' }] });
  expect(result.isError).toBeUndefined();
  expect(result).toMatchObject({ _meta: { 'longhaul/runId': runs.only.runId, 'longhaul/status': 'completed' } });
  expect(runs.started).toMatchObject([{ agent: 'clerk', options: { input: 'Where is it?' } }]);
});

test.each(GENERATIONS)('an agent with an output schema returns structured content to a client %s', async (_, generation) => {
  const output = { total: 3, notes: ['one'] };
  const { runs, handler } = served((run) => run.ends({ output }));
  await using client = await mcpClient(handler, generation);
  await client.listTools();
  const result = await client.callTool({ name: 'the_auditor', arguments: { input: 'Count', deps: { shop: 'a' } } });
  expect(result).toMatchObject({ structuredContent: output, content: [{ type: 'text', text: JSON.stringify(output) }] });
  expect(runs.started).toMatchObject([{ agent: 'the auditor', options: { input: 'Count', deps: { shop: 'a' } } }]);
});

test('small images are separate content, and other media are named', async () => {
  const image = { type: 'image', data: 'aGk=', mediaType: 'image/png' } as const;
  const file = { type: 'file', name: 'r.pdf', url: 'https://example.com/r.pdf' } as const;
  const { handler } = served((run) => run.ends({ output: [{ type: 'text', text: 'See' }, image, file] }));
  await using client = await mcpClient(handler, 'auto');
  const { content } = await client.callTool({ name: 'clerk', arguments: { input: 'Q' } });
  expect(content).toEqual([
    { type: 'text', text: 'See' },
    { type: 'image', data: 'aGk=', mimeType: 'image/png' },
    { type: 'text', text: '[File: r.pdf] https://example.com/r.pdf' },
  ]);
});

test.each(GENERATIONS)('progress names steps and tools to a client %s that asks for it', async (_, generation) => {
  const { runs, handler } = served((run) => {
    run.pending = [{ toolName: 'refund' }];
    run.shows({ type: 'status', status: 'running' }, calling('search', 'search', 'refund'), step(1));
    run.shows({ type: 'status', status: 'pending_confirmation' }, { type: 'status', status: 'running' }, { type: 'gap' }).ends({});
  });
  await using client = await mcpClient(handler, generation);
  const seen: unknown[] = [];
  await client.callTool({ name: 'clerk', arguments: { input: 'Q' } }, { onprogress: (one) => seen.push(one) });
  expect(seen).toMatchObject([
    { progress: 1, message: `The run "${runs.only.runId}" has begun` },
    { progress: 2, message: 'The agent works' },
    { progress: 3, message: 'The agent calls search (2), refund' },
    { progress: 4, message: 'Step 1 is done' },
    { progress: 5, message: 'The run waits for a person to decide about refund' },
    { progress: 6, message: 'The agent works' },
  ]);
});

test.each([
  [{ status: 'error', error: 'No model', errorCode: 'model_client_failed' }, 'The run failed (model_client_failed): No model'],
  [{ status: 'cancelled', cancelReason: 'ops said so' }, 'The run was cancelled: ops said so'],
  [
    { status: 'max_iterations_reached', stopReason: 'step_limit', output: 'Half' },
    'The run did not complete (step_limit). Its last answer: Half',
  ],
] as const)('a run that does not complete is an error of the tool: %j', async (result, text) => {
  const { handler } = served((run) => run.ends(result));
  await using client = await mcpClient(handler, 'legacy');
  expect(await client.callTool({ name: 'clerk', arguments: { input: 'Q' } })).toMatchObject({
    isError: true,
    content: [{ type: 'text', text }],
    _meta: { 'longhaul/status': result.status },
  });
});

test('a result names the reason why the model ended its last answer, and says that it was cut off', async () => {
  const { handler } = served((run) => {
    run.shows({ type: 'step', step: { ...newStep(1), finishReason: 'length' } }).ends({ output: 'Once upon' });
  });
  await using client = await mcpClient(handler, 'auto');
  expect(await client.callTool({ name: 'clerk', arguments: { input: 'Q' } })).toMatchObject({
    content: [
      { type: 'text', text: 'Once upon' },
      { type: 'text', text: '[The answer was cut off: the model ended it with the finish reason "length".]' },
    ],
    _meta: { 'longhaul/status': 'completed', 'longhaul/finishReason': 'length' },
  });
});

test.each(GENERATIONS)('invalid arguments start nothing, and a client %s is told why', async (_, generation) => {
  const { runs, handler } = served(() => undefined);
  await using client = await mcpClient(handler, generation);
  const call = async (name: string, args: Record<string, unknown>): Promise<string> =>
    JSON.stringify(await client.callTool({ name, arguments: args }));
  expect(await call('clerk', {})).toContain('missing required field');
  expect(await call('clerk', { input: 'Q', model: 'other' })).toContain('model');
  expect(await call('the_auditor', { input: 'Q', deps: { shop: 1 } })).toContain('shop');
  await expect(client.callTool({ name: 'nobody', arguments: {} })).rejects.toMatchObject({ code: -32602 });
  expect(runs.started).toEqual([]);
});

test('an error of the service is a tool error with only an id', async () => {
  const reported: unknown[] = [];
  const failure = new Error('password=hunter2');
  const { handler } = served(
    () => {
      throw failure;
    },
    { onError: (error, { id }) => reported.push(error, id) },
  );
  await using client = await mcpClient(handler, 'auto');
  const result = await client.callTool({ name: 'clerk', arguments: { input: 'Q' } });
  expect(result.isError).toBe(true);
  expect(JSON.stringify(result)).not.toMatch(/hunter2|\.ts:\d+/);
  expect(JSON.stringify(result)).toContain(String(reported[1]));
  expect(reported[0]).toBe(failure);
});
