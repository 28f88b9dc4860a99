import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import type { DecisionToAuthorize } from '../../../worker/index.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const write = defineTool({
  name: 'write',
  description: 'Writes a text',
  parameters: z.object({ text: z.string() }),
  approval: 'always',
  execute: ({ text }) => `${text.length} characters that begin with ${text.slice(0, 1)}`,
});

const agent = defineAgent({ name: 'writer', model: 'scripted/m', tools: [write] });

/** Too large for the input of an activity. */
const long = (letter: string): { text: string } => ({ text: letter.repeat(5_000) });

/** Waits until the call of the run waits for a decision. */
async function waiting(run: { status(): Promise<{ status: string }> }): Promise<void> {
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits for a decision');
}

test('a call that is approved after another worker has taken the run over gets its large arguments', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([callTool('write', long('a'), 'c1')]) } });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await waiting(run);
  await testbed.stopWorkers();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([say('done')]) } });
  await run.approve('c1');
  const { steps } = await run.result({ steps: true });
  expect(steps?.[0]?.toolCalls).toMatchObject([{ isError: false, result: '5000 characters that begin with a' }]);
});

test('large edited arguments reach the authorize hook and the tool', async () => {
  await using testbed = await Testbed.open();
  const asked: DecisionToAuthorize[] = [];
  await testbed.work({
    agents: [agent],
    providers: { scripted: scriptedModel([callTool('write', long('a'), 'c1'), say('done')]) },
    authorize: (decision) => {
      asked.push(decision);
      return { as: `${decision.by} of example.org` };
    },
  });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await waiting(run);
  const receipt = await run.approve('c1', { by: 'ann', arguments: long('b') });
  expect(receipt).toMatchObject({ status: 'decided', decision: { by: 'ann', verifiedBy: 'ann of example.org' } });
  expect(asked).toMatchObject([{ arguments: long('a'), editedArguments: long('b') }]);
  const { steps } = await run.result({ steps: true });
  expect(steps?.[0]?.toolCalls).toMatchObject([{ arguments: long('b'), result: '5000 characters that begin with b' }]);
});

test('if the authorize hook refuses a decision, the call keeps waiting and the approver gets the reason', async () => {
  await using testbed = await Testbed.open();
  const told: string[] = [];
  await testbed.work({
    agents: [agent],
    providers: { scripted: scriptedModel([callTool('write', { text: 'x' }, 'c1'), say('done')]) },
    notify: ({ id }) => void told.push(id),
    authorize: ({ by }) => {
      if (by !== 'ann') throw new Error(`${by} is not ann`);
      return { as: by };
    },
  });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await waiting(run);
  const message = expect.stringContaining('bob is not ann') as string;
  await expect(run.approve('c1', { by: 'bob' })).rejects.toMatchObject({ code: 'not_authorized', message });
  await run.approve('c1', { by: 'ann' });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  await until(() => told.length > 0, 'the notification');
  expect(new Set(told)).toEqual(new Set([expect.stringContaining(run.runId)]));
});
