import { ApplicationFailure } from '@temporalio/common';
import { expect, test } from 'vitest';
import type { RunningCall } from '../../../src/core/protocol.ts';
import { callTool, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import type { EndedNotice } from '../../../worker/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { assistant } from '../testbed/agents.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { executionStatus, historyOf, Testbed, until } from '../testbed/testbed.ts';

test('notifyEnded is called once, after the last execution of a run, with the result that the client reads', async () => {
  await using testbed = await Testbed.open();
  const told: EndedNotice[] = [];
  const scripted = scriptedModel([callTool('search', { query: 'a' }), say('x'.repeat(60_000)), hang()]);
  const notifyEnded = (ended: EndedNotice): void => void told.push(ended);
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: { events: 8 }, notifyEnded });
  const done = await testbed.client.run(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  // The event that closes the run repeats only a part of an output of this size.
  expect(told).toMatchObject([{ runId: done.runId, agentName: 'assistant', status: 'completed', result: { output: 'x'.repeat(60_000) } }]);
  expect(told[0]?.result.toJSON()).toEqual(done.toJSON());

  const cancelled = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(() => scripted.requests.length === 3, 'the model call');
  await cancelled.cancel('enough');
  expect(await cancelled.result()).toMatchObject({ status: 'cancelled', cancelReason: 'enough' });
  expect(await executionStatus(testbed, cancelled.runId)).toBe('CANCELLED');
  expect(told[1]).toMatchObject({ runId: cancelled.runId, status: 'cancelled', result: { cancelReason: 'enough' } });
  expect(told).toHaveLength(2);
  expect(told[0]?.id).not.toBe(told[1]?.id);
  const [asked] = (await historyOf(testbed, done.runId)).filter(
    (event) => event.activityTaskScheduledEventAttributes?.activityType?.name === 'notifyEnded',
  );
  expect(Buffer.from(asked?.activityTaskScheduledEventAttributes?.input?.payloads?.[0]?.data ?? []).toString()).toBe(
    '{"agentName":"assistant","status":"completed"}',
  );
});

test('a notifyEnded hook that fails is shown, is given up after its time limit, and does not change how the run ended', async () => {
  await using testbed = await Testbed.open();
  let isUp = false;
  const notifyEnded = (): void => {
    if (isUp) throw ApplicationFailure.nonRetryable('no such service');
    throw Object.assign(new Error('the service is down'), { retryAfterMs: 10 });
  };
  await testbed.work({ agents: [assistant], providers: { scripted: scriptedModel([say('done')]) }, notifyEnded });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  const telling = async (): Promise<RunningCall | undefined> => (await run.status()).running?.find(({ name }) => name === 'notifyEnded');
  await until(async () => ((await telling())?.attempt ?? 0) > 2, 'two failed attempts', 30);
  expect(await telling()).toMatchObject({ lastFailure: 'the service is down' });
  const shown = await callCli(['show', run.runId, '--address', testbed.address]);
  expect(shown.stdout).toMatch(
    /notifyEnded … sends the notice that the run has ended \(attempt \d+\)\n.*the attempt before failed: the service is down/,
  );
  await expect(run.send('one more thing')).rejects.toMatchObject({ code: 'run_ended' });
  isUp = true;
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done', error: null });
  const lastError = '"notifyEnded" could not report that the run has ended: no such service';
  expect((await run.status()).lastError).toContain(lastError);
  await expectSameFromHistory(testbed, run);
});
