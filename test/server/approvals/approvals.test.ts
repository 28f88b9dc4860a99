import { expect, test } from 'vitest';
import { defineAgent, type LonghaulError } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { clerk, deploy } from './decision-agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const pay = callTool('refund', { amount: 5 }, 'c1');

/** Waits until a call of the run waits for a decision. */
async function waiting(run: { status(): Promise<{ status: string }> }): Promise<void> {
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits for a decision');
}

/** Returns the code and the message of a promise's rejection. */
async function refusal(promise: Promise<unknown>): Promise<{ code: string; message: string }> {
  const { code, message } = (await promise.then(
    () => expect.fail('it was not refused'),
    (error: unknown) => error,
  )) as LonghaulError;
  return { code, message };
}

test('a call waits for a decision while the other calls of its response run, and starts once it is approved', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([together(say('paying'), pay, callTool('search', { query: 'x' }, 'c2')), say('done')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await waiting(run);
  const { pending } = await run.approvals();
  expect(pending).toMatchObject([{ kind: 'tool', callId: 'c1', toolName: 'refund', arguments: { amount: 5 }, step: 1 }]);
  expect((await run.context()).events.at(-1)).toMatchObject({ partial: true, content: [{ toolCallId: 'c2', content: ['found: x'] }] });
  expect(await run.approve('c1', { id: 'd1', by: 'ann' })).toMatchObject({ status: 'decided', decision: { id: 'd1', by: 'ann' } });
  const result = await run.result({ steps: true });
  expect(result.status).toBe('completed');
  expect(result.steps?.[0]?.toolCalls.map(({ callId, result: text }) => [callId, text])).toEqual([
    ['c1', 'paid 5'],
    ['c2', 'found: x'],
  ]);
});

test('edited arguments are validated before they are accepted, and the tool gets them', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([pay, say('done')]) } });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await waiting(run);
  const tooSmall = await refusal(run.approve('c1', { arguments: { amount: 'much' } }));
  expect(tooSmall).toMatchObject({ code: 'invalid_arguments', message: expect.stringContaining('"refund"') as string });
  await run.approve('c1', { arguments: { amount: 3 } });
  const { steps } = await run.result({ steps: true });
  expect(steps?.[0]?.toolCalls[0]).toMatchObject({ arguments: { amount: 3 }, result: 'paid 3' });
});

test('for a rejected call the model reads the reason, and the run continues', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([pay, say('a pity')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await waiting(run);
  await run.reject('c1', { reason: 'too much' });
  const result = await run.result({ steps: true });
  expect(result.outputText).toBe('a pity');
  expect(result.steps?.[0]?.toolCalls[0]).toMatchObject({ isError: true, result: 'User denied the tool execution. Reason: too much' });
});

test('a refused decision leaves no event, and resending the same decision returns the recorded one', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({
    agents: [clerk],
    providers: { scripted: scriptedModel([pay, callTool('refund', { amount: 9 }, 'c2'), say('done')]) },
  });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await waiting(run);
  const before = (await run.context()).total;
  const historyBefore = (await historyOf(testbed, run)).length;
  expect(await refusal(run.approve('c9'))).toMatchObject({ code: 'unknown_call' });
  expect(await refusal(run.approve({ callId: 'c1', digest: 'of other arguments' }))).toMatchObject({ code: 'digest_mismatch' });
  expect((await run.context()).total).toBe(before);
  expect(await historyOf(testbed, run)).toHaveLength(historyBefore);
  const [about = { callId: '', digest: '' }] = (await run.approvals()).pending;
  await run.approve('c1', { id: 'd1', by: 'ann' });
  await until(async () => (await run.approvals()).pending.some(({ callId }) => callId === 'c2'), 'the second call waits');
  expect(await refusal(run.reject({ callId: 'c1', digest: 'of other arguments' }))).toMatchObject({ code: 'digest_mismatch' });
  expect(await run.approve(about, { id: 'd1', by: 'ann' })).toMatchObject({ status: 'repeated', decision: { type: 'approve' } });
  const other = await refusal(run.reject(about, { id: 'd2' }));
  expect(other.code).toBe('already_decided');
  expect(other.message).toMatch(/approved by "ann" at .* \(decision "d1"\)/);
  await run.reject('c2');
  await run.result();
  expect(await run.approve(about, { id: 'd1' })).toMatchObject({ status: 'repeated', decision: { by: 'ann' } });
  expect(await refusal(run.reject(about, { id: 'd3' }))).toMatchObject({ code: 'already_decided' });
  expect(await refusal(run.reject({ ...about, digest: 'of other arguments' }))).toMatchObject({ code: 'digest_mismatch' });
});

test('an edit that the schema of the tool completes is recognized when it is sent again, also after the run', async () => {
  await using testbed = await Testbed.open();
  const deployer = defineAgent({ name: 'deployer', model: 'scripted/m', tools: [deploy] });
  const scripted = scriptedModel([callTool('deploy', { version: '1' }, 'c1'), say('done')]);
  await testbed.work({ agents: [deployer], providers: { scripted } });
  const run = await testbed.client.start(deployer, { input: 'deploy', taskQueue: testbed.taskQueue });
  await waiting(run);
  const [about = { callId: '', digest: '' }] = (await run.approvals()).pending;
  expect(about).toMatchObject({ arguments: { version: '1', env: 'prod' } });
  const edit = { id: 'd1', arguments: { version: ' 2' } };
  await run.approve(about, edit);
  await run.result();
  expect(await run.approve(about, edit)).toMatchObject({ status: 'repeated' });
  expect(await refusal(run.approve(about, { id: 'd1', arguments: { version: '3' } }))).toMatchObject({ code: 'key_reused' });
  expect((await run.steps())[0]?.toolCalls[0]).toMatchObject({ arguments: { version: '2', env: 'prod' }, result: '2 is in prod' });
});

test('a predicate decides which calls wait for approval, and gives the reason', async () => {
  await using testbed = await Testbed.open();
  const mails = together(callTool('mail', { to: 'a@example.org' }, 'c1'), callTool('mail', { to: 'b@example.net' }, 'c2'));
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel([mails, say('done')]) } });
  const run = await testbed.client.start(clerk, { input: 'write', taskQueue: testbed.taskQueue });
  await waiting(run);
  expect((await run.approvals()).pending).toMatchObject([{ callId: 'c2', reason: '"b@example.net" is a stranger' }]);
  await run.approve('c2');
  expect((await run.result()).status).toBe('completed');
});

test('a person answers a question, and the answer has to fit its schema', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('ask_colour', { question: 'Which?' }, 'c1'), say('done')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const run = await testbed.client.start(clerk, { input: 'ask', taskQueue: testbed.taskQueue });
  await waiting(run);
  expect((await run.approvals()).pending).toMatchObject([{ kind: 'question', answer: { type: 'object' } }]);
  expect(await refusal(run.approve('c1'))).toMatchObject({ code: 'invalid_input' });
  expect(await refusal(run.respond('c1', { colour: 'blue' }))).toMatchObject({ code: 'invalid_arguments' });
  await run.respond('c1', { colour: 'green' });
  const { steps } = await run.result({ steps: true });
  expect(steps?.[0]?.toolCalls[0]).toMatchObject({ isError: false, result: '{"colour":"green"}' });
});

test('a waiting run survives the end of its worker and continues as new, and the decision is carried out once', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([pay, say('done')]);
  await testbed.work({ agents: [clerk], providers: { scripted }, continueAsNew: { updates: 3 } });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await waiting(run);
  const { pending } = await run.approvals();
  for (const id of ['m1', 'm2', 'm3', 'm4']) await run.send(id, { id });
  await until(async () => (await run.status()).executions > 1, 'the run continues as new while it waits');
  expect((await run.approvals()).pending).toEqual(pending);
  await testbed.stopWorkers();
  await testbed.work({ agents: [clerk], providers: { scripted } });
  expect(await run.approve('c1', { id: 'd1' })).toMatchObject({ status: 'decided' });
  const result = await run.result({ steps: true });
  expect(result.steps?.[0]?.toolCalls[0]?.result).toBe('paid 5');
  expect(await run.approve('c1', { id: 'd1' })).toMatchObject({ decision: { id: 'd1', type: 'approve' } });
}, 90_000);

test('the notify hook is called at least once for a call that waits, with the same id each time', async () => {
  await using testbed = await Testbed.open();
  const told: string[] = [];
  await testbed.work({
    agents: [clerk],
    providers: { scripted: scriptedModel([pay, say('done')]) },
    notify: ({ id, toolName, digest }) => {
      told.push(`${id} ${toolName} ${digest}`);
      if (told.length === 1) throw new Error('the chat is down');
    },
  });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await until(() => told.length === 2, 'the notify hook is called');
  const [waits] = (await run.approvals()).pending;
  const id = `${run.runId}/${waits?.key}`;
  expect(told).toEqual([`${id} refund ${waits?.digest}`, `${id} refund ${waits?.digest}`]);
  await run.approve('c1');
  expect((await run.result()).status).toBe('completed');
});
