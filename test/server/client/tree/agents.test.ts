import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineTool } from '../../../../src/index.ts';
import type { RunHandle } from '../../../../src/client/index.ts';
import type { ModelClient } from '../../../../src/core/domain/model.ts';
import { addUsageOfEvent } from '../../../../src/core/domain/record.ts';
import { noUsage } from '../../../../src/core/domain/usage.ts';
import { callTool, hang, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import { callCli } from '../../../cli/call-cli.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { executionStatus, Testbed, until } from '../../testbed/testbed.ts';
import { careful, signing } from '../../tools/agents/agents-below.ts';

/** Runs the agent that asks. */
const manager = defineAgent({ name: 'manager', model: 'middle/m', tools: [agentTool(careful)] });

const refund = defineTool({
  name: 'refund',
  description: 'Pays money back.',
  parameters: z.object({ n: z.number() }),
  approval: 'always',
  execute: ({ n }) => `refunded ${n}`,
});

/** The root of the tree. */
const chief = defineAgent({ name: 'chief', model: 'above/m', tools: [agentTool(manager), refund], limits: { totalTokens: 10_000 } });

const middle = (): ModelClient => scriptedModel([callTool('careful', { request: '1' }), say('It is signed.')]);

async function started(testbed: Testbed, above: ModelClient, below: ModelClient = signing()): Promise<RunHandle<unknown>> {
  await testbed.work({ agents: [chief], providers: { above, middle: middle(), below } });
  return testbed.client.start<string>('chief', { input: 'Go', taskQueue: testbed.taskQueue });
}

/** Returns the ids of the root's descendants, once this many calls wait. */
async function waitingTree(run: RunHandle<unknown>, calls = 1): Promise<[manager: string, careful: string]> {
  await until(async () => (await run.approvals()).pending.length === calls, 'the calls to wait', 60);
  const owner = (await run.approvals()).pending.at(-1)?.runId ?? '';
  return [owner.slice(0, owner.lastIndexOf('/')), owner];
}

const statusOf = async ({ client }: Testbed, runId: string): Promise<string> => (await client.handle(runId).status()).status;

test('what waits two levels down is shown at every ancestor, and decided once at the root', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, scriptedModel([callTool('manager', { request: 'Sign' }), say('All is signed.')]));
  const [middleId, owner] = await waitingTree(run);
  expect(middleId.startsWith(`${run.runId}/manager.`)).toBe(true);
  for (const runId of [run.runId, middleId]) {
    await until(async () => (await statusOf(testbed, runId)) === 'pending_confirmation', `the status of ${runId}`);
    expect((await testbed.client.handle(runId).approvals()).pending).toMatchObject([{ toolName: 'sign', runId: owner }]);
    const listed: string[] = [];
    const waitingFor = runId === run.runId ? 'manager' : 'careful';
    await until(async () => {
      for await (const { runId: found } of testbed.client.list({ waitingFor })) listed.push(found);
      return listed.includes(runId);
    }, `the search attribute of ${runId}`);
  }
  const page = await testbed.client.approvalsPage({}, { pageSize: 1_000 });
  expect(page.items.filter(({ runId }) => runId.startsWith(run.runId))).toMatchObject([{ toolName: 'sign', runId: owner }]);
  const tree = await callCli(['tree', run.runId, '--address', testbed.address]);
  expect(tree.stdout).toMatch(
    /^chief pending_confirmation .*\n└─ manager pending_confirmation .*\n {3}└─ careful pending_confirmation .* waits for sign\n/,
  );
  const { pending } = await run.approvals();
  const [waiting] = pending;
  if (waiting === undefined) throw new Error('nothing waits');
  await expect(run.approve({ ...waiting, digest: 'other' })).rejects.toMatchObject({ code: 'digest_mismatch' });
  expect(await run.approve(waiting.callId, { id: 'd1', by: 'ann' })).toMatchObject({ decision: { id: 'd1', callId: waiting.callId } });
  const result = await run.result();
  expect(result).toMatchObject({ status: 'completed', output: 'All is signed.' });
  expect(await run.approve(waiting.callId, { id: 'd1', by: 'ann' })).toMatchObject({ status: 'repeated' });

  const shown = await run.tree();
  expect(shown).toMatchObject({
    steps: 2,
    children: [{ runId: middleId, steps: 2, children: [{ runId: owner, steps: 2, children: [] }] }],
  });
  let sum = noUsage();
  const decided: string[] = [];
  for await (const event of run.events({ tree: true })) {
    sum = addUsageOfEvent(sum, event);
    if (event.decision !== undefined) decided.push(event.runId);
  }
  expect(decided).toEqual([owner]);
  expect(shown.treeUsage).toEqual(sum);
  expect(result.treeUsage).toEqual(sum);
  expect((await run.status()).treeUsage).toEqual(sum);
  expect(result.usage.llmCalls).toBe(2);
  await expectSameFromHistory(testbed, run);
}, 90_000);

test('a call id that the root and a descendant share is ambiguous: the listed approval and --in say which one is meant', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([together(callTool('manager', { request: 'Sign' }), callTool('refund', { n: 2 }, 'same')), say('Done.')]);
  const below: ModelClient = { ...scriptedModel([callTool('sign', { n: 1 }, 'same'), say('Signed.')]) };
  const run = await started(testbed, above, below);
  const [, owner] = await waitingTree(run, 2);
  const message = expect.stringContaining(`"${run.runId}", "${owner}"`) as string;
  await expect(run.approve('same')).rejects.toMatchObject({ code: 'ambiguous_call', message });
  const cli = (...args: string[]): ReturnType<typeof callCli> => callCli([...args, '--by', 'ann', '--address', testbed.address]);
  const refused = await cli('approve', run.runId, 'same');
  expect(refused).toMatchObject({ exitCode: 11, stderr: expect.stringContaining('--in') as string });
  expect((await cli('approve', run.runId, 'same', '--in', run.runId)).exitCode).toBe(0);
  await until(async () => (await run.approvals()).pending.length === 1, 'the decision');
  expect((await cli('reject', run.runId, 'same', '--in', owner)).exitCode).toBe(0);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
}, 60_000);

test('a pause, a resumption and a cancellation at the root reach the runs two levels below', async () => {
  await using testbed = await Testbed.open();
  const below = scriptedModel([callTool('sign', { n: 1 }), hang()]);
  const run = await started(testbed, scriptedModel([callTool('manager', { request: 'Sign' })]), below);
  const [middleId, owner] = await waitingTree(run);
  const all = [run.runId, middleId, owner];
  await run.pause();
  await run.approve((await run.approvals()).pending[0]?.callId ?? '');
  // The ancestors are in the middle of their step, which ends with the child.
  await until(async () => (await statusOf(testbed, owner)) === 'paused', 'the pause two levels down', 40);
  await run.resume();
  await until(() => below.requests.length === 2, 'the next model call two levels down', 40);
  await run.cancel('enough');
  expect(await run.result()).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
  for (const runId of all) expect(await executionStatus(testbed, runId)).toBe('CANCELLED');
}, 60_000);

test('the deadline of the root ends the runs two levels below, also while they wait for a person', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('manager', { request: 'Sign' })]);
  await testbed.work({ agents: [chief], providers: { above, middle: middle(), below: signing() } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue, limits: { deadline: '4s' } });
  const [middleId, owner] = await waitingTree(run);
  expect(await run.result()).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
  for (const runId of [middleId, owner]) {
    expect(await testbed.client.handle(runId).result()).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
  }
}, 60_000);

test('a raise for a descendant is refused above its share, and names the remedy', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, scriptedModel([callTool('manager', { request: 'Sign' }), say('Done.')]));
  const [middleId, owner] = await waitingTree(run);
  for (const runId of [middleId, owner]) {
    await expect(testbed.client.handle(runId).raise({ totalTokens: 1_000_000 })).rejects.toMatchObject({
      code: 'budget_exceeded',
      message: expect.stringContaining('Raise the limit of the root'),
    });
  }
  expect(await run.raise({ totalTokens: 1_000_000 })).toMatchObject({ status: 'raised', limits: { totalTokens: 1_000_000 } });
  await run.cancel('seen');
}, 60_000);
