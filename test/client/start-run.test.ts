import type { Client } from '@temporalio/client';
import { describe, expect, test, vi } from 'vitest';
import { z } from 'zod';
import { startProgram, startRun } from '../../src/client/start.ts';
import { defineAgent, secret } from '../../src/index.ts';
import { assistant } from '../server/testbed/agents.ts';

/** A client that sends nothing, and the requests that it would have sent. */
function quietClient(): { client: Client; start: ReturnType<typeof vi.fn<Client['workflow']['start']>> } {
  const start = vi.fn<Client['workflow']['start']>();
  return { client: { workflow: { start } } as unknown as Client, start };
}

describe('deps that must not enter a history are refused with their path before anything is sent', () => {
  test.each<[string, unknown, string]>([
    ['a function', { tools: [() => 1] }, 'deps.tools[0] is a function'],
    ['a live object', { pool: new Map() }, 'deps.pool is an object of class "Map"'],
    ['a reference to a secret', { crm: secret('crm-token') }, 'deps.crm is a reference to secret "crm-token"'],
    ['a text under the name of a credential', { crm: { api_key: 'v8-Kq2' } }, 'deps.crm.api_key is a text under the name of a credential'],
  ])('%s', async (_, deps, problem) => {
    const { client, start } = quietClient();
    for (const agent of [assistant, 'assistant']) {
      await expect(startRun(client, agent, { input: 'Q', deps })).rejects.toMatchObject({
        code: 'invalid_input',
        message: expect.stringContaining(`The run cannot start: ${problem}`),
      });
    }
    expect(start).not.toHaveBeenCalled();
  });
});

describe('a state that must not enter a history is refused in the same way', () => {
  test.each<[string, unknown, string]>([
    ['a function', { tools: [() => 1] }, 'state.tools[0] is a function: the state is JSON, stored in the history of the run'],
    ['a reference to a secret', { crm: secret('crm-token') }, 'state.crm is a reference to secret "crm-token"'],
    ['a text under the name of a credential', { crm: { api_key: 'v8-Kq2' } }, 'state.crm.api_key is a text under the name of a credential'],
    ['a list', [1], 'state: expected an object of JSON values'],
  ])('%s', async (_, state, problem) => {
    const { client, start } = quietClient();
    const message = expect.stringContaining(`The run cannot start: ${problem}`) as string;
    await expect(startRun(client, assistant, { input: 'Q', state: state as never })).rejects.toMatchObject({
      code: 'invalid_input',
      message,
    });
    await expect(startProgram(client, 'p', { state: state as never })).rejects.toMatchObject({ code: 'invalid_input', message });
    expect(start).not.toHaveBeenCalled();
  });

  test('and one that is too large', async () => {
    const { client } = quietClient();
    const state = { a: 'x'.repeat(150_000) };
    await expect(startRun(client, assistant, { input: 'Q', state })).rejects.toMatchObject({ code: 'payload_too_large' });
    await expect(startProgram(client, 'p', { state })).rejects.toMatchObject({ code: 'payload_too_large' });
  });
});

test("missing deps that the agent's schema requires are refused before anything is sent; missing deps with defaults are accepted", async () => {
  const { client, start } = quietClient();
  const agent = defineAgent({ name: 'a', model: 'p/m', deps: z.object({ user: z.string(), locale: z.string().default('en') }) });
  for (const deps of [undefined, {}]) {
    await expect(startRun(client, agent, { input: 'Q', deps })).rejects.toMatchObject({
      code: 'invalid_input',
      message: 'The deps do not fit agent "a": deps.user is missing. Start it with { deps: { user: … } }',
    });
  }
  expect(start).not.toHaveBeenCalled();
  await startRun(client, agent, { input: 'Q', deps: { user: 'ada' } });
  expect(start).toHaveBeenCalledOnce();
});

test('other deps are sent unchanged', async () => {
  const { client, start } = quietClient();
  const deps = { user: { id: 1, tokenBudget: 7 }, nextPageToken: 'p2' };
  await startRun(client, assistant, { input: 'Q', deps, runId: 'r' });
  expect(start).toHaveBeenCalledWith(
    'agentRun',
    expect.objectContaining({ workflowId: 'r', args: [{ agent: 'assistant', input: 'Q', deps }] }),
  );
});

test.each([
  ['refuse', 'write "fail", "return" or "restartFailed"'],
  ['restart', 'write "fail", "return" or "restartFailed"'],
])('an invalid "ifExists" is refused before anything is sent: %j', async (ifExists, instead) => {
  const { client, start } = quietClient();
  await expect(startRun(client, assistant, { input: 'Q', ifExists: ifExists as 'fail' })).rejects.toMatchObject({
    code: 'invalid_input',
    message: `The run cannot start: "ifExists" is "${ifExists}": ${instead}`,
  });
  expect(start).not.toHaveBeenCalled();
});

test.each([
  ['maxIterations', 3, 'the start has an unknown option "maxIterations"'],
  ['limits', { maxIterations: 3 }, '"limits" has an unknown option "maxIterations" (known: steps, '],
  ['limits', { steps: 0 }, '"limits.steps" is 0: write a whole number of at least 1'],
])('steps are limited by limits.steps alone: %s %j', async (name, value, problem) => {
  const { client, start } = quietClient();
  await expect(startRun(client, assistant, { input: 'Q', [name]: value })).rejects.toThrow(problem);
  expect(start).not.toHaveBeenCalled();
  await startRun(client, assistant, { input: 'Q', limits: { steps: 3, toolCalls: 2 }, runId: 'r' });
  const input = { agent: 'assistant', input: 'Q', limits: { steps: 3, toolCalls: 2 } };
  expect(start).toHaveBeenCalledWith('agentRun', expect.objectContaining({ args: [input] }));
});
