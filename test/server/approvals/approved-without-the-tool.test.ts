import { expect, test } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { scriptedModel, type ScriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { release, told, waitsFor } from '../deploys/releases.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

test('a call approved while the only worker lacks its tool runs once, on the new worker, if it is idempotent, once or local', async () => {
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
  for (const [index, one] of runs.entries()) await waitsFor(one, agents[index]?.name ?? '');

  const [run] = runs as [RunHandle<unknown>];
  const { missing } = await run.status();
  expect(missing).toMatchObject([{ kind: 'agent', name: 'clerk', worker: expect.stringContaining(`${process.pid}@`) }]);
  const shown = await callCli(['show', run.runId, '--address', testbed.address]);
  expect(shown.stdout).toContain('Waits     No worker has had agent "clerk" so far');
  expect(await currentDetails(testbed, run)).toContain('No worker has had agent "clerk" so far');
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
  // The histories give the same steps as the workers did.
  for (const [index, one] of runs.entries()) expect(await testbed.client.handle(one.runId).steps()).toEqual(results[index]?.steps);
});

/** Asks for the current details, as the Temporal UI does while the run continues. */
async function currentDetails(testbed: Testbed, run: RunHandle<unknown>): Promise<string> {
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);
  const metadata = await handle.query<{ currentDetails?: string }>('__temporal_workflow_metadata');
  return metadata.currentDetails ?? '';
}
