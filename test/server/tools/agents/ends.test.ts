import { expect, test } from 'vitest';
import { agentTool, defineAgent } from '../../../../src/index.ts';
import type { RunHandle } from '../../../../src/client/index.ts';
import { callTool, failWith, hang, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import { expectSameFromHistory } from '../../testbed/same-from-history.ts';
import { executionStatus, historyOf, Testbed, until } from '../../testbed/testbed.ts';
import { careful, chief, signing } from './agents-below.ts';

/** Returns the only child of a run, once it waits for a decision. */
async function waitingChild(run: RunHandle<unknown>): Promise<string> {
  await until(async () => (await run.approvals()).pending.length === 1, 'the agent to wait', 60);
  return (await run.status()).children?.[0] ?? '';
}

test("the agent of a run that is cancelled is cancelled with it, and the run counts the agent's usage", async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' })]);
  await testbed.work({ agents: [chief], providers: { above, below: signing() } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  const child = await waitingChild(run);
  await run.cancel('enough');
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'cancelled', descendants: { runs: 1, usage: { llmCalls: 1 } } });
  expect(result.steps?.[0]?.toolCalls).toMatchObject([{ childRunId: child, isError: true }]);
  expect(await executionStatus(testbed, child)).toBe('CANCELLED');
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('an agent that was terminated is noticed by the next execution, and its call is an error result', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' }), say('It is gone.')]);
  const providers = { above, below: signing() };
  await testbed.work({ agents: [chief], providers, continueAsNew: { updates: 2 }, childCheckEvery: '2s' });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  const child = await waitingChild(run);
  for (const message of ['one', 'two', 'three']) await run.send(message);
  await until(async () => (await run.status()).executions > 1, 'the next execution', 40);
  await testbed.client.temporal.workflow.getHandle(child).terminate('operator');
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'completed', output: 'It is gone.', descendants: { runs: 1 } });
  expect(result.steps?.[0]?.toolCalls[0]?.result).toContain("Agent 'careful' ended without a result");
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('an agent that was terminated in the execution that has started it is noticed at once', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' }), say('It is gone.')]);
  await testbed.work({ agents: [chief], providers: { above, below: signing() } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  await testbed.client.temporal.workflow.getHandle(await waitingChild(run)).terminate('operator');
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'It is gone.' });
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('the agent of a run that was terminated cancels itself', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' })]);
  await testbed.work({ agents: [chief], providers: { above, below: signing() }, childCheckEvery: '1s' });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  const child = await waitingChild(run);
  await testbed.client.temporal.workflow.getHandle(run.runId).terminate('operator');
  await until(async () => (await executionStatus(testbed, child)) !== 'RUNNING', 'the end of the agent', 80);
  expect(await executionStatus(testbed, child)).toBe('CANCELLED');
}, 60_000);

test('pause and resume reach the agent of a run', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' }), say('Signed.')]);
  await testbed.work({ agents: [chief], providers: { above, below: signing() } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  const child = testbed.client.handle(await waitingChild(run));
  const [waiting] = (await run.approvals()).pending;
  if (waiting === undefined) throw new Error('nothing waits');
  const hasPaused = async (): Promise<boolean> =>
    (await historyOf(testbed, child)).some(({ workflowExecutionSignaledEventAttributes: sent }) => sent?.signalName === 'pausedByParent');
  await run.pause();
  await until(hasPaused, 'the signal', 40);
  await child.approve(waiting);
  await until(async () => (await child.status()).status === 'paused', 'the pause of the agent', 40);
  await run.resume();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Signed.' });
  await expectSameFromHistory(testbed, run);
}, 60_000);

test("an agent ends at its parent's deadline", async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' })]);
  await testbed.work({ agents: [chief], providers: { above, below: signing() } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue, deadline: '3s' });
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'limit_reached', stopReason: 'deadline' });
  const [call] = result.steps?.[0]?.toolCalls ?? [];
  expect(call?.result).toContain('limit_reached (deadline)');
  expect(await executionStatus(testbed, call?.childRunId ?? '')).toBe('COMPLETED');
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('an agent that continues as new itself reports its end to the next execution of its parent', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([callTool('careful', { request: '1' }), say('Signed.')]);
  await testbed.work({ agents: [chief], providers: { above, below: signing() }, continueAsNew: { updates: 2 } });
  const run = await testbed.client.start(chief, { input: 'Go', taskQueue: testbed.taskQueue });
  const child = testbed.client.handle(await waitingChild(run));
  for (const message of ['one', 'two', 'three']) await run.send(message);
  await until(async () => (await run.status()).executions > 1, 'the next execution of the run', 40);
  for (const message of ['one', 'two', 'three']) await child.send(message);
  await until(async () => (await child.status()).executions > 1, 'the next execution of the agent', 40);
  const [waiting] = (await run.approvals()).pending;
  if (waiting === undefined) throw new Error('nothing waits');
  await child.approve(waiting);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Signed.' });
  await expectSameFromHistory(testbed, run);
  await expectSameFromHistory(testbed, child);
}, 60_000);

test('a message that interrupts cancels the agents, whose partial answers the model reads; a steering message waits for them', async () => {
  await using testbed = await Testbed.open();
  const thinker = defineAgent({ name: 'thinker', model: 'below/m' });
  const boss = defineAgent({ name: 'boss', model: 'above/m', tools: [agentTool(thinker), agentTool(careful)] });
  const above = scriptedModel([
    together(callTool('thinker', { request: 'Think' }), callTool('careful', { request: '2' })),
    say('Then not.'),
  ]);
  const below = signing();
  const thinking = scriptedModel([hang('So far: half')]);
  const call: typeof below.call = (request, context) => (request.tools.length === 0 ? thinking : below).call(request, context);
  await testbed.work({ agents: [boss], providers: { above, below: { ...below, call } } });
  const run = await testbed.client.start(boss, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1 && thinking.requests.length === 1, 'both agents', 60);
  await run.send('Hurry', { mode: 'steer' });
  expect(above.requests).toHaveLength(1);
  const { children = [] } = await run.status();
  expect(await Promise.all(children.map((child) => executionStatus(testbed, child)))).toEqual(['RUNNING', 'RUNNING']);
  await run.send('Stop', { mode: 'interrupt' });
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'completed', output: 'Then not.', descendants: { runs: 2 } });
  const [thought] = result.steps?.[0]?.toolCalls ?? [];
  expect(thought).toMatchObject({ isError: true, result: expect.stringContaining('ended with cancelled') });
  expect(thought?.result).toContain('Partial answer: So far: half');
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('a run inside another workflow cannot have an agent as a tool: it ends before it asks a model', async () => {
  await using testbed = await Testbed.open();
  const above = scriptedModel([]);
  const researcher = defineAgent({ name: 'researcher', model: 'above/m', tools: [agentTool(careful)] });
  await testbed.work({ agents: [researcher], providers: { above, below: signing() } });
  const { workflow } = testbed.client.temporal;
  const options = { workflowId: `host-${testbed.taskQueue}`, taskQueue: testbed.taskQueue, args: ['key'] };
  expect(await workflow.execute('inlineOutcome', options)).toMatchObject({ status: 'error' });
  expect(above.requests).toEqual([]);
}, 60_000);

test('a run that is retried from the call of an agent starts another run of it', async () => {
  await using testbed = await Testbed.open();
  const simple = defineAgent({ name: 'simple', model: 'below/m' });
  const boss = defineAgent({ name: 'boss', model: 'above/m', tools: [agentTool(simple)] });
  const call = callTool('simple', { request: 'Hi' });
  const above = scriptedModel([call, failWith('model_bad_request', 'no'), call, say('Done.')]);
  await testbed.work({ agents: [boss], providers: { above, below: scriptedModel([say('one'), say('two')]) } });
  const run = await testbed.client.start(boss, { input: 'Go', taskQueue: testbed.taskQueue });
  const [before] = (await run.result({ steps: true })).steps?.[0]?.toolCalls ?? [];
  await run.retry({ fromStep: 1 });
  const result = await run.result({ steps: true });
  expect(result).toMatchObject({ status: 'completed', output: 'Done.', descendants: { runs: 1 } });
  const [after] = result.steps?.[0]?.toolCalls ?? [];
  expect([before?.result, after?.result]).toEqual(['one', 'two']);
  expect(after?.childRunId).not.toBe(before?.childRunId);
  await expectSameFromHistory(testbed, run);
}, 60_000);

test('an agent alone adds nine events to the run that has called it', async () => {
  await using testbed = await Testbed.open();
  const simple = defineAgent({ name: 'simple', model: 'below/m' });
  const boss = defineAgent({ name: 'boss', model: 'above/m', tools: [agentTool(simple)] });
  const script = [callTool('simple', { request: 'Hi' }), say('Done.')];
  await testbed.work({ agents: [boss], providers: { above: scriptedModel(script), below: scriptedModel([say('Hello.')]) } });
  const run = await testbed.client.start(boss, { input: 'Go', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ output: 'Done.' });
  const events = await historyOf(testbed, run);
  const started = events.findIndex((event) => event.startChildWorkflowExecutionInitiatedEventAttributes);
  const next = events.findIndex((event, index) => index > started && event.activityTaskScheduledEventAttributes);
  expect(next - started).toBeLessThanOrEqual(9);
}, 60_000);
