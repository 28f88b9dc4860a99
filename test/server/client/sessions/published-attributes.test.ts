import { randomUUID } from 'node:crypto';
import { msNumberToTs } from '@temporalio/common/lib/time.js';
import { expect, test } from 'vitest';
import { SEARCH_ATTRIBUTES } from '../../../../src/core/protocol.ts';
import { say, scriptedModel } from '../../../../src/testing/index.ts';
import { defineAgent } from '../../../../src/index.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

const brief = defineAgent({ name: 'brief', model: 'scripted/m' });

test('a session has its search attribute from its start, also in its next executions, without a separate event', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel(Array.from({ length: 6 }, (_, index) => say(`answer ${index + 1}`)));
  await testbed.work({ agents: [brief], providers: { scripted }, continueAsNew: { events: 40 } });
  const session = testbed.client.session(brief, { id: `talk-${randomUUID()}`, title: 'Long', taskQueue: testbed.taskQueue });
  for (let turn = 1; turn <= 6; turn += 1) await session.ask(`question ${turn}`);
  await until(async () => (await session.status()).executions > 1, 'the next execution');
  const described = await testbed.client.temporal.workflow.getHandle(session.id).describe();
  const attributes = new Map(described.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]));
  expect(attributes.get(SEARCH_ATTRIBUTES.session)).toBe('brief');
  expect(described.memo).toEqual({ longhaulTitle: 'Long' });
});

test('a session starts in a namespace without the search attribute, and is not listed there', async () => {
  const name = `bare-${randomUUID()}`;
  await using registering = await Testbed.open();
  const { workflowService } = registering.client.temporal;
  await workflowService.registerNamespace({ namespace: name, workflowExecutionRetentionPeriod: msNumberToTs(86_400_000) });
  await using testbed = await openWhenReady(name);
  const session = testbed.client.session('brief', { id: `talk-${randomUUID()}`, taskQueue: testbed.taskQueue });
  // Before any worker has registered the attributes.
  const asked = session.ask('hello');
  await until(
    async () =>
      (await testbed.client.temporal.workflow
        .getHandle(session.id)
        .describe()
        .catch(() => undefined)) !== undefined,
    'the start',
  );
  await testbed.work({ agents: [brief], providers: { scripted: scriptedModel([say('hi')]) } });
  expect(await asked).toMatchObject({ turn: 1, output: 'hi' });
});

/** A new namespace takes requests after a moment. */
async function openWhenReady(namespace: string): Promise<Testbed> {
  for (let attempt = 0; ; attempt += 1) {
    try {
      return await Testbed.open(namespace);
    } catch (error) {
      if (attempt === 100) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}
