import { MockActivityEnvironment } from '@temporalio/testing';
import { expect, test } from 'vitest';
import { AgentRegistry } from '../../../activities/agents/agent-registry.ts';
import { resolveAgentActivity } from '../../../activities/agents/resolve-agent.ts';
import type { AgentSnapshot } from '../../../src/core/domain/agent.ts';
import type { ResolveAgentInput } from '../../../src/core/protocol.ts';
import type { ActivityRuntime } from '../../../activities/runtime.ts';
import { defineAgent } from '../../../src/index.ts';
import { scriptedModel } from '../../../src/testing/index.ts';
import { WorkerSkills } from '../../../activities/skills/worker-skills.ts';
import { runtimeOf } from '../activity-environment.ts';

const clerk = defineAgent({ name: 'clerk', model: 'p/m', limits: { totalTokens: 1_000 } });

function runtime(changes: Partial<ActivityRuntime> = {}): ActivityRuntime {
  const model = scriptedModel([]);
  return { ...runtimeOf([], model), registry: new AgentRegistry([clerk], { p: model }), skills: new WorkerSkills([clerk]), ...changes };
}

/** Runs the activity as Temporal would. */
function resolving(by: ActivityRuntime): (input: ResolveAgentInput) => Promise<AgentSnapshot> {
  const activity = resolveAgentActivity(by);
  return (input) => new MockActivityEnvironment().run(activity, input);
}

test("the limits of the start replace the agent's limits in the snapshot", async () => {
  const resolve = resolving(runtime());
  const snapshot = await resolve({ agent: 'clerk', limits: { steps: 3, toolCalls: 2, deadlineMs: 60_000 } });
  expect(snapshot.limits).toEqual({ steps: 3, finalAttempt: false, totalTokens: 1_000, toolCalls: 2, deadlineMs: 60_000 });
});

test('the snapshot of a live run says so', async () => {
  const resolve = resolving(runtime());
  expect(await resolve({ agent: 'clerk', live: true })).toMatchObject({ live: true });
  expect(await resolve({ agent: 'clerk' })).not.toHaveProperty('live');
});

test("model, settings and tags of the start replace the agent's in the snapshot", async () => {
  const warm = defineAgent({ name: 'warm', model: 'p/m', settings: { temperature: 1, maxOutputTokens: 50 } });
  const registry = new AgentRegistry([warm], {
    p: scriptedModel([]),
    q: scriptedModel([], { capabilities: { structuredOutput: true, contextTokens: 1_000 } }),
  });
  const known = (tag: boolean) => () => Promise.resolve({ agentAndStatus: true, waitingFor: true, tag });
  const resolve = resolving(runtime({ registry, searchAttributes: known(true) }));
  const start = { agent: 'warm', model: 'q/large', settings: { temperature: 0 }, tags: ['acme'] };
  const snapshot = await resolve(start);
  expect(snapshot).toMatchObject({
    model: 'q/large',
    settings: { temperature: 0, maxOutputTokens: 50 },
    tags: ['acme'],
    tagAttribute: true,
  });
  // The window of this model.
  expect(snapshot.window?.maxTokens).toBeLessThan(1_000);
  expect(await resolving(runtime({ registry, searchAttributes: known(false) }))(start)).not.toHaveProperty('tagAttribute');
  const plain = await resolve({ agent: 'warm' });
  expect(plain).toMatchObject({ model: 'p/m', settings: { temperature: 1, maxOutputTokens: 50 } });
  for (const name of ['tags', 'tagAttribute']) expect(plain).not.toHaveProperty(name);
});

test.each<[Partial<ResolveAgentInput>, string, string]>([
  [{ model: 'm' }, 'invalid_input', 'The run cannot start: agent "clerk": model "m" has no provider: write "provider/model"'],
  [{ model: 'elsewhere/m' }, 'unknown_provider', 'No provider "elsewhere" for model "elsewhere/m" in this worker'],
  [
    { settings: { toolChoice: 'required' } },
    'invalid_input',
    'The run cannot start: agent "clerk": "settings.toolChoice" is "required", but the agent has no tools',
  ],
])('the worker refuses a start with %j that bypassed the client', async (overrides, type, message) => {
  await expect(resolving(runtime())({ agent: 'clerk', ...overrides })).rejects.toMatchObject({
    type,
    nonRetryable: true,
    message: expect.stringContaining(message),
  });
});

test('the snapshot has the hooks and prices of the worker, and the search attributes of the namespace', async () => {
  const prices = { 'p/m': { input: 1, output: 2 } };
  const resolve = resolving(
    runtime({
      authorize: () => ({ as: 'somebody' }),
      notify: () => undefined,
      prices,
      logOnce: () => undefined,
      searchAttributes: () => Promise.resolve({ agentAndStatus: true, waitingFor: true }),
    }),
  );
  expect(await resolve({ agent: 'clerk' })).toMatchObject({
    authorize: true,
    notify: true,
    prices,
    searchAttributes: true,
    waitingForAttribute: true,
  });
});

test('the snapshot of a worker without hooks, prices and attributes has no such fields', async () => {
  const snapshot = await resolving(runtime())({ agent: 'clerk' });
  expect(snapshot).toHaveProperty('searchAttributes', false);
  for (const name of ['authorize', 'notify', 'prices', 'waitingForAttribute']) expect(snapshot).not.toHaveProperty(name);
});

test.each([
  ['a run', { limits: { costUsd: 1 } }],
  ['a session', { priced: true as const }],
])('%s whose limit in dollars could not be enforced is refused without a retry', async (_, terms) => {
  const resolve = resolving(runtime());
  await expect(resolve({ agent: 'clerk', ...terms })).rejects.toMatchObject({
    type: 'invalid_agent',
    nonRetryable: true,
    message: expect.stringContaining('the price of model "p/m" is not known'),
  });
});

test('deps with a likely secret are refused without a retry, and the error gives the path', async () => {
  const resolve = resolving(runtime());
  await expect(resolve({ agent: 'clerk', deps: { crm: { apiKey: 'v8-Kq2' } } })).rejects.toMatchObject({
    type: 'invalid_input',
    nonRetryable: true,
    message: expect.stringMatching(/^The run cannot start: deps\.crm\.apiKey is a text under the name of a credential/),
  });
});

test('a worker that lacks a hook of an ancestor refuses the run, so that another worker gets it', async () => {
  const hooks = [{ name: 'guard', on: 'pre_tool_use' as const, of: 'lead' }];
  await expect(resolving(runtime())({ agent: 'clerk', hooks })).rejects.toMatchObject({
    type: 'unknown_hook',
    message: 'No agent "lead" in this worker, of which the run needs hook "guard" for "pre_tool_use". It has: "clerk".',
  });
});
