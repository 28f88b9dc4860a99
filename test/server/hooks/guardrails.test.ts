import { expect, test } from 'vitest';
import { contentFilter, defineAgent, defineGuardrail } from '../../../src/index.ts';
import { hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { expectSameFromHistory } from '../testbed/same-from-history.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

test('messages that do not pass cancel the model call that reads them, and end the run', async () => {
  await using testbed = await Testbed.open();
  const model = scriptedModel([hang('Well')]);
  const asked = defineGuardrail({
    name: 'asked',
    type: 'input',
    check: async () => {
      await until(async () => Promise.resolve(model.requests.length > 0), 'the model call');
      return { passed: false, message: 'Not here' };
    },
  });
  await testbed.work({
    agents: [defineAgent({ name: 'clerk', model: 'scripted/m', guardrails: [asked] })],
    providers: { scripted: model },
  });
  const handle = await testbed.client.start('clerk', { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await handle.result()).toMatchObject({
    status: 'error',
    stopReason: 'guardrail',
    errorCode: 'guardrail_tripped',
    output: 'Request blocked: Not here',
    guardrail: { name: 'asked', type: 'input' },
    stepsUsed: 0,
  });
  expect(model.requests).toHaveLength(1);
  const history = await historyOf(testbed, handle);
  expect(history.flatMap((event) => event.activityTaskScheduledEventAttributes?.activityType?.name ?? []).toSorted()).toEqual([
    'callHooks',
    'callModel',
    'resolveAgent',
  ]);
  expect(history.filter((event) => event.activityTaskCancelRequestedEventAttributes != null)).toHaveLength(1);
  await expectSameFromHistory(testbed, handle);
});

test('a worker that dies during a check is followed by a worker that checks again', async () => {
  await using testbed = await Testbed.open();
  let checks = 0;
  const slow = defineGuardrail({
    name: 'slow',
    type: 'output',
    check: async ({ signal }) => {
      checks += 1;
      if (checks === 1) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('stopped'))));
      return { passed: true };
    },
  });
  const work = {
    agents: [
      defineAgent({ name: 'clerk', model: 'scripted/m', guardrails: [slow, contentFilter({ type: 'output', keywords: ['secret'] })] }),
    ],
    providers: { scripted: scriptedModel([say('Fine.')]) },
  };
  await testbed.work(work);
  const handle = await testbed.client.start('clerk', { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => Promise.resolve(checks === 1), 'the check');
  await testbed.stopWorkers();
  await testbed.work(work);
  expect(await handle.result()).toMatchObject({ status: 'completed', output: 'Fine.', usage: { llmCalls: 1 } });
  expect(checks).toBe(2);
});
