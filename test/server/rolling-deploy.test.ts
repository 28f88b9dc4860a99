import { expect, test } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../src/client/index.ts';
import { defineAgent, defineTool } from '../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptedModel } from '../../src/testing/index.ts';
import { callCli } from '../cli/call-cli.ts';
import { assistant } from './agents.ts';
import { historyOf, Testbed, until } from './testbed.ts';

/** A worker that was there before the deploy: it has other agents, and the same model. */
function old(testbed: Testbed, model: ScriptedModel = scriptedModel([]), more: object = {}): Promise<unknown> {
  return testbed.work({ agents: [assistant], providers: { scripted: model }, ...more });
}

/** A tool that waits for a decision and counts its calls, as a release has it that the old worker is not. */
function counted(options: { effect?: 'once'; tier?: 'local' } = {}) {
  let calls = 0;
  const tool = defineTool({
    name: 'tool_b',
    description: 'Counts',
    parameters: z.object({}),
    approval: 'always',
    ...options,
    execute: () => `call ${(calls += 1)}`,
  });
  return { tool, calls: () => calls };
}

/** An agent with that tool, and the model for one call of it. */
function release(name: string, options: { effect?: 'once'; tier?: 'local' } = {}) {
  const { tool, calls } = counted(options);
  const model = scriptedModel([callTool('tool_b', {}, 'c1'), say('Done.')]);
  return { agent: defineAgent({ name, model: `${name}/m`, tools: [tool] }), providers: { [name]: model }, model, calls };
}

/** What every model was told, as text. */
function told({ requests }: ScriptedModel): string {
  return JSON.stringify(requests);
}

async function waitsFor(run: RunHandle<unknown>, name: string): Promise<void> {
  await until(async () => (await run.status()).missing?.some((one) => one.name === name) === true, `the run waits for "${name}"`);
}

async function scheduled(testbed: Testbed, run: RunHandle<unknown>, name: string): Promise<number> {
  const events = await historyOf(testbed, run);
  return events.filter((event) => event.activityTaskScheduledEventAttributes?.activityType?.name === name).length;
}

test('runs of a new agent all complete while the old worker takes half of their tasks', async () => {
  await using testbed = await Testbed.open();
  const model = scriptedModel([say('hello')], { repeatLast: true });
  await old(testbed, model);
  const fresh = defineAgent({ name: 'fresh', model: 'scripted/m' });
  await testbed.work({ agents: [fresh], providers: { scripted: model } });
  const runs = await Promise.all(
    Array.from({ length: 8 }, () => testbed.client.start(fresh, { input: 'Q', taskQueue: testbed.taskQueue })),
  );
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 'completed'));
  const times = await Promise.all(runs.map((run) => scheduled(testbed, run, 'resolveAgent')));
  // However often it was tried, it is scheduled once more at most; eight times the new worker alone is one in 256.
  expect(Math.max(...times)).toBeLessThanOrEqual(2);
});

test('calls that are approved on a worker without their tool run once, on the new worker: idempotent, once and local', async () => {
  await using testbed = await Testbed.open();
  const releases = [release('clerk'), release('payer', { effect: 'once' }), release('quick', { tier: 'local' })];
  const providers = Object.assign({}, ...releases.map((one) => one.providers)) as Record<string, ScriptedModel>;
  const agents = releases.map(({ agent }) => agent);
  await testbed.work({ agents, providers });
  const runs = await Promise.all(agents.map((agent) => testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue })));
  for (const run of runs) await until(async () => (await run.approvals()).pending.length === 1, 'the call waits');
  await testbed.stopWorkers();
  await testbed.work({ agents: [assistant], providers: { ...providers, scripted: scriptedModel([]) } });
  await Promise.all(runs.map((run) => run.approve('c1')));
  for (const run of runs) await waitsFor(run, 'tool_b');

  const [run] = runs as [RunHandle<unknown>];
  const { missing } = await run.status();
  expect(missing).toMatchObject([{ kind: 'tool', name: 'tool_b', worker: expect.stringContaining(`${process.pid}@`) }]);
  const shown = await callCli(['show', run.runId, '--address', testbed.address]);
  expect(shown.stdout).toContain('Waits     No worker has had tool "tool_b" so far');
  expect(await currentDetails(testbed, run)).toContain('No worker has had tool "tool_b" so far');
  const events = (await historyOf(testbed, run)).length;
  await until(async () => ((await run.status()).running?.[0]?.attempt ?? 0) > 2, 'more than one attempt');
  expect((await historyOf(testbed, run)).length).toBe(events);
  expect(releases.map(({ calls }) => calls())).toEqual([0, 0, 0]);

  await testbed.work({ agents, providers });
  const results = await Promise.all(runs.map((one) => one.result({ steps: true })));
  for (const [index, { status, output, steps }] of results.entries()) {
    expect([status, output]).toEqual(['completed', 'Done.']);
    expect(steps?.[0]?.toolCalls).toMatchObject([{ toolName: 'tool_b', result: 'call 1', isError: false }]);
    expect(releases[index]?.calls()).toBe(1);
    expect(told(releases[index]?.model as ScriptedModel)).not.toContain('not registered');
  }
  expect((await run.status()).missing).toBeUndefined();
  await testbed.stopWorkers();
  // Read back from their histories they are the same runs.
  for (const [index, one] of runs.entries()) expect(await testbed.client.handle(one.runId).steps()).toEqual(results[index]?.steps);
});

/** What the Temporal UI shows of the run as it goes on. */
async function currentDetails(testbed: Testbed, run: RunHandle<unknown>): Promise<string> {
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
}

test('whoever starts a run with a misspelt name hears of it within seconds, and the run ends when its time is up', async () => {
  await using testbed = await Testbed.open();
  await old(testbed, scriptedModel([]), { missingTimeout: '6s' });
  const begun = Date.now();
  const ended = testbed.client.run('asistant', { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => testbed.notices.length > 0, 'somebody says so');
  expect(Date.now() - begun).toBeLessThan(5_000);
  expect(testbed.notices.join()).toMatch(/No worker has had agent "asistant" so far.*It has: "assistant"\. Did you mean "assistant"\?/);
  const result = await ended;
  expect(Date.now() - begun).toBeLessThan(15_000);
  expect(result).toMatchObject({ status: 'error', errorCode: 'unknown_agent', stepsUsed: 0 });
  expect(result.error).toContain('No agent "asistant" is registered in this worker. It has: "assistant".');
});

test('a tool that no worker has in time ends the run, and no model reads why', async () => {
  await using testbed = await Testbed.open();
  const model = scriptedModel([callTool('tool_b', {}, 'c1'), say('Never said.')]);
  const providers = { scripted: model };
  await testbed.work({ agents: [defineAgent({ name: 'clerk', model: 'scripted/m', tools: [counted().tool] })], providers });
  const run = await testbed.client.start('clerk', { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the call waits');
  await testbed.stopWorkers();
  await testbed.work({ agents: [defineAgent({ name: 'clerk', model: 'scripted/m' })], providers, missingTimeout: '1s' });
  await run.approve('c1');
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'error', errorCode: 'unknown_tool', stepsUsed: 1 });
  expect(result.error).toContain('No tool "tool_b" of agent "clerk" in this worker');
  expect(result.steps?.[0]?.toolCalls).toMatchObject([
    { isError: true, result: "Tool 'tool_b' is not executable: no worker has it at the moment." },
  ]);
  expect(model.requests).toHaveLength(1);
});
