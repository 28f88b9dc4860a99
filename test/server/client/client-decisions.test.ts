import { expect, test, vi } from 'vitest';
import type { RunApproval, RunHandle } from '../../../src/client/index.ts';
import { defineAgent } from '../../../src/index.ts';
import { callTool, say, scriptedModel, type ScriptEntry, together } from '../../../src/testing/index.ts';
import { search } from '../testbed/agents.ts';
import { askColour, clerk, refund } from '../approvals/decision-agents.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const pay = (id: string): ReturnType<typeof callTool> => callTool('refund', { amount: 5 }, id);

async function started(testbed: Testbed, script: ScriptEntry[]): Promise<RunHandle> {
  await testbed.work({ agents: [clerk], providers: { scripted: scriptedModel(script) } });
  const run = await testbed.client.start(clerk, { input: 'pay', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits');
  return run;
}

test('a decision on a run that has ended is answered from its record, with a worker and without', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, [together(pay('c1'), pay('c2'), callTool('search', { query: 'q' }, 'c3')), say('done')]);
  const { pending } = await run.approvals();
  const [first = { callId: '', digest: '' }] = pending;
  await run.approve('c1', { id: 'd1', by: 'ann' });
  await run.reject('c2', { id: 'd2', by: 'bob', reason: 'no' });
  await run.result();
  const check = async (): Promise<void> => {
    expect(await run.approve(first, { id: 'd1' })).toMatchObject({ status: 'repeated', decision: { type: 'approve', by: 'ann' } });
    expect(await run.reject('c2', { id: 'd2' })).toMatchObject({ status: 'repeated', decision: { by: 'bob', reason: 'no' } });
    const other = {
      code: 'already_decided',
      message: expect.stringMatching(/"c1" of "refund" .* was approved by "ann" at .* "d1"/) as string,
    };
    await expect(run.reject('c1', { id: 'd9' })).rejects.toMatchObject(other);
    await expect(run.reject(first, { id: 'd1' })).rejects.toMatchObject(other);
    await expect(run.approve({ ...first, callId: 'c3' })).rejects.toMatchObject({ code: 'unknown_call' });
    await expect(run.approve({ ...first, callId: 'c9' })).rejects.toMatchObject({ code: 'unknown_call' });
  };
  await check();
  await testbed.stopWorkers();
  await check();
  expect(await run.approvals()).toMatchObject({ status: 'completed', pending: [] });
}, 60_000);

test('a decision about a listed approval makes no query, and is refused if the approval has changed', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, [together(pay('c1'), pay('c2')), say('done')]);
  const [one = { callId: '', digest: '' }, two = { callId: '', digest: '' }] = (await run.approvals()).pending;
  const { workflowService } = testbed.client.temporal;
  const queries = vi.spyOn(workflowService, 'queryWorkflow');
  expect(await run.approve(one, { id: 'd1', by: 'ann' })).toMatchObject({ status: 'decided' });
  await expect(run.reject(one)).rejects.toMatchObject({ code: 'already_decided' });
  await expect(run.approve({ ...two, digest: 'of other arguments' })).rejects.toMatchObject({ code: 'digest_mismatch' });
  expect(queries).not.toHaveBeenCalled();
  await run.approve('c2');
  expect(queries).toHaveBeenCalledOnce();
  await run.result();
});

test('a call that was still undecided when the run ended can no longer be decided', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, [pay('c1')]);
  await run.cancel('enough', { by: 'ann' });
  expect(await run.result()).toMatchObject({ status: 'cancelled', cancelReason: 'enough (ann)' });
  await expect(run.approve('c1')).rejects.toMatchObject({
    code: 'run_ended',
    message: expect.stringContaining('had no decision') as string,
  });
});

test('a decision that the run no longer remembers is found in its record', async () => {
  await using testbed = await Testbed.open();
  const many = Array.from({ length: 110 }, (_, index) => pay(`c${index}`));
  const run = await started(testbed, [together(say('all of them'), ...many), pay('last'), say('done')]);
  const { pending } = await run.approvals();
  expect(pending).toHaveLength(110);
  const reason = 'because '.repeat(40);
  for (const one of pending) await run.reject(one, { id: `of-${one.callId}`, reason, by: 'b'.repeat(150) });
  await until(async () => (await run.approvals()).pending[0]?.callId === 'last', 'the next call');
  expect(await run.reject('c0', { id: 'of-c0' })).toMatchObject({ status: 'repeated', decision: { callId: 'c0' } });
  await expect(run.reject('c0', { id: 'of-c0', reason: 'another one' })).rejects.toMatchObject({ code: 'key_reused' });
  await expect(run.approve('c0')).rejects.toMatchObject({ code: 'already_decided' });
  const unknown = { code: 'unknown_call', message: expect.stringContaining('the waiting calls are "last" (refund)') as string };
  await expect(run.approve('c999')).rejects.toMatchObject(unknown);
}, 60_000);

test('a run that an operator terminated says so, waits for nothing, and keeps its record', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, [callTool('search', { query: 'q' }), pay('c1')]);
  const listed = async (filter: object): Promise<string[]> => {
    const entries = await Array.fromAsync(testbed.client.list(filter));
    return entries.filter(({ runId }) => runId === run.runId).map(({ status, waitingFor }) => `${status}: ${waitingFor.join()}`);
  };
  await until(async () => (await listed({ waitingFor: 'refund' })).length === 1, 'the run is listed');
  expect(await listed({ waitingFor: true })).toEqual(['pending_confirmation: refund']);
  await testbed.client.temporal.workflow.getHandle(run.runId).terminate('by hand');
  await expect(run.result()).rejects.toMatchObject({ code: 'run_terminated', message: expect.stringContaining('by hand') as string });
  const check = async (): Promise<void> => {
    expect(await run.status()).toMatchObject({ status: 'error', waitingFor: [], currentStep: 1 });
    expect(await run.approvals()).toMatchObject({ status: 'error', pending: [] });
    expect(await run.context()).toMatchObject({ status: 'error', total: 4 });
    expect(await run.steps()).toHaveLength(1);
    await expect(run.approve('c1')).rejects.toMatchObject({ code: 'run_ended' });
    await expect(run.raise({ steps: 99 })).rejects.toMatchObject({ code: 'run_ended' });
  };
  await check();
  await testbed.stopWorkers();
  await check();
  await until(async () => (await listed({ status: 'error' })).length === 1, 'the run is listed as ended');
  expect(await listed({ waitingFor: 'refund' })).toEqual([]);
  expect(await listed({ status: 'error' })).toEqual(['error: ']);
}, 60_000);

test('the pending approvals of all runs are listed, and each is followed once', async () => {
  await using testbed = await Testbed.open();
  const teller = defineAgent({
    name: `teller-${testbed.taskQueue}`,
    model: 'scripted/m',
    tools: [search, refund, askColour],
  });
  const script = [together(pay('c1'), callTool('ask_colour', { question: '?' }, 'c2'))];
  await testbed.work({ agents: [teller], providers: { scripted: scriptedModel(script, { repeatLast: true }) } });
  const start = async (): Promise<RunHandle> => testbed.client.start(teller, { input: 'pay', taskQueue: testbed.taskQueue });
  const runs = [await start(), await start()];
  const stop = new AbortController();
  const followed: RunApproval[] = [];
  const following = (async () => {
    for await (const one of testbed.client.approvals({ agent: teller.name, follow: true, signal: stop.signal })) followed.push(one);
  })();
  await until(() => followed.length === 4, 'both runs wait');
  runs.push(await start());
  await until(() => followed.length === 6, 'the third run waits');
  const one = async (filter: object): Promise<string[]> =>
    (await Array.fromAsync(testbed.client.approvals({ agent: teller.name, ...filter })))
      .map(({ runId, callId }) => `${runId} ${callId}`)
      .toSorted();
  expect(await one({ tool: 'ask_colour' })).toEqual(runs.map(({ runId }) => `${runId} c2`).toSorted());
  expect(await one({ limit: 2 })).toHaveLength(2);
  stop.abort(new Error('enough'));
  await expect(following).rejects.toThrow('enough');
  expect(new Set(followed.map(({ runId, key }) => `${runId} ${key}`)).size).toBe(6);
}, 60_000);

test('limits are raised once for each id, and never lowered', async () => {
  await using testbed = await Testbed.open();
  const run = await started(testbed, [pay('c1'), say('done')]);
  expect(await run.raise({ steps: 30 }, { id: 'r1', by: 'ann' })).toMatchObject({
    status: 'raised',
    limits: { steps: 30 },
  });
  expect((await run.status()).limits).toMatchObject({ steps: 30 });
  await expect(run.raise({ steps: 3 })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('would lower') as string,
  });
  await expect(run.raise({ deadline: '1h' })).rejects.toMatchObject({
    code: 'invalid_input',
    message: expect.stringContaining('"deadlineMs"') as string,
  });
  await expect(run.raise({})).rejects.toMatchObject({ code: 'invalid_input' });
  await run.reject('c1');
  await run.result();
});
