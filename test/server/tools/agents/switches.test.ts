import { expect, test } from 'vitest';
import { callTool, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import { executionStatus, Testbed, until } from '../../testbed/testbed.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { careful, chief, signing } from './agents-below.ts';

const CHILDREN = 20;

test('a run that switches its execution with 20 agents alive cancels no agent, and takes each result once', async () => {
  await using testbed = await Testbed.open();
  const calls = Array.from({ length: CHILDREN }, (_, n) => callTool('careful', { request: String(n) }));
  const above = scriptedModel([together(say(''), ...calls), say('All signed.')]);
  await testbed.work({ agents: [chief, careful], providers: { above, below: signing() }, continueAsNew: { updates: 4 } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === CHILDREN, 'all agents to wait', 60);
  const { children = [] } = await run.status();
  expect(children).toHaveLength(CHILDREN);
  for (let message = 0; message < 12; message += 1) await run.send(`message ${message}`);
  await until(async () => (await run.status()).executions > 2, 'later executions', 40);
  expect(await Promise.all(children.map((child) => executionStatus(testbed, child)))).toEqual(children.map(() => 'RUNNING'));
  for (const waiting of (await run.approvals()).pending) await testbed.client.handle(waiting.runId ?? '').approve(waiting);
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({
    status: 'completed',
    output: 'All signed.',
    descendants: { runs: CHILDREN, usage: { llmCalls: 2 * CHILDREN } },
  });
  const taken = result.steps?.[0]?.toolCalls ?? [];
  expect(taken.map(({ result: text }) => text)).toEqual(calls.map((_, n) => `answer ${n}`));
  expect(new Set(taken.map(({ childRunId }) => childRunId))).toEqual(new Set(children));
  await expectSameFromHistory(testbed, run);
}, 120_000);

test('a run notifies its parent that it waits, also if it continues as new just when it begins to wait', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' }), say('Signed.')]);
  // The model call of the agent fills its execution: the wait belongs to the next one.
  await testbed.work({ agents: [chief, careful], providers: { above, below: signing() }, continueAsNew: { events: 18 } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the agent to wait', 30);
  const [child = ''] = (await run.status()).children ?? [];
  expect((await testbed.client.handle(child).status()).executions).toBeGreaterThan(1);
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the parent to know of the wait', 20);
  for (const waiting of (await run.approvals()).pending) await run.approve(waiting);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Signed.' });
}, 120_000);
