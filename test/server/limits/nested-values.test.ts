import { type Payload, RawValue } from '@temporalio/common';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { contextUpdate, defineAgent, defineTool, withUpdate } from '../../../src/index.ts';
import type { RunHandle } from '../../../src/client/index.ts';
import { AGENT_RUN, SIGNALS, UPDATES } from '../../../src/core/protocol.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

const TOO_DEEP = 'nested deeper than 64 levels';

const write = defineTool({
  name: 'write',
  description: 'Writes anything.',
  parameters: z.looseObject({}),
  approval: 'always',
  execute: () => 'written',
});

const agent = defineAgent({ name: 'writer', model: 'scripted/m', tools: [write] });

/** The text of this many nested lists. JSON.stringify itself overflows the stack at some thousands. */
const lists = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;

/** JSON text as a client without checks sends it. */
function sentAsIs(text: string): RawValue {
  const payload: Payload = { metadata: { encoding: Buffer.from('json/plain') }, data: Buffer.from(text) };
  return RawValue.fromPayload(payload);
}

function decision(id: string, digest: string, member: string, levels: number): RawValue {
  return sentAsIs(`{"callId":"c1","id":"${id}","digest":"${digest}","${member}":${lists(levels)}}`);
}

async function failedTasks(testbed: Testbed, run: RunHandle<unknown> | string): Promise<unknown[]> {
  const history = await historyOf(testbed, run);
  return history.filter((event) => event.workflowTaskFailedEventAttributes ?? event.workflowTaskTimedOutEventAttributes);
}

test.each([10_000, 900_000])('%i levels in a decision, a message or a limit are refused, as an Update and as a Signal', async (levels) => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([callTool('write', {}, 'c1'), say('done')]) } });
  const run = await testbed.client.start(agent, { input: 'Q', taskQueue: testbed.taskQueue });
  await until(async () => (await run.status()).status === 'pending_confirmation', 'the run waits for a decision');
  const [waiting] = (await run.approvals()).pending;
  const digest = waiting?.digest ?? '';
  const handle = testbed.client.temporal.workflow.getHandle(run.runId);

  const updates: [string, RawValue, string][] = [
    [UPDATES.respond, decision('d1', digest, 'content', levels), 'content'],
    [UPDATES.approve, decision('d2', digest, 'arguments', levels), 'arguments'],
    [UPDATES.send, sentAsIs(`{"id":"m1","content":${lists(levels)}}`), 'content'],
    [UPDATES.raise, sentAsIs(`{"id":"r1","limits":${lists(levels)}}`), 'limits'],
  ];
  for (const [name, argument, member] of updates) {
    await expect(handle.executeUpdate(name, { args: [argument] })).rejects.toMatchObject({
      cause: { type: 'invalid_input', message: expect.stringContaining(`${member}: ${TOO_DEEP}`) as string },
    });
  }
  await handle.signal(SIGNALS.respond, decision('d3', digest, 'content', levels));
  await handle.signal(SIGNALS.send, sentAsIs(`{"id":"m2","content":${lists(levels)}}`));
  await handle.signal(SIGNALS.cancel, sentAsIs(lists(levels)));
  await run.approve('c1', { arguments: { deep: JSON.parse(lists(63)) as never } });
  expect(await run.result()).toMatchObject({ status: 'completed', outputText: 'done' });
  expect(await failedTasks(testbed, run)).toEqual([]);
});

test('the client refuses too many levels before it sends anything', async () => {
  await using testbed = await Testbed.open();
  const deep = JSON.parse(lists(10_000)) as never;
  const run = testbed.client.handle('none');
  const refused = (text: string): object => ({ code: 'invalid_input', message: expect.stringContaining(text) as string });
  await expect(run.respond('c1', deep)).rejects.toMatchObject(refused(`was not sent: content: ${TOO_DEEP}`));
  await expect(run.approve('c1', { arguments: { deep } })).rejects.toMatchObject(refused(`was not sent: arguments: ${TOO_DEEP}`));
  await expect(run.send(deep)).rejects.toMatchObject(refused(`was not sent: content: ${TOO_DEEP}`));
  await expect(testbed.client.start(agent, { input: deep })).rejects.toMatchObject(refused(`cannot start: input: ${TOO_DEEP}`));
  await expect(testbed.client.start(agent, { input: 'Q', deps: { deep } })).rejects.toMatchObject(refused(TOO_DEEP));
});

test.each([
  ['input', `{"agent":"writer","input":${lists(10_000)}}`, `input: ${TOO_DEEP}`],
  ['deps', `{"agent":"writer","input":"Q","deps":{"deep":${lists(900_000)}}}`, `deps: ${TOO_DEEP}`],
  ['continuedState', `{"continuedState":{"version":1,"state":${lists(10_000)}}}`, 'continuedState: nested deeper than 64 levels'],
])('a run that is started with 10,000 levels or more in its %s ends with an error that says so', async (_, text, problem) => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [agent], providers: { scripted: scriptedModel([say('done')]) } });
  const workflowId = `deep-${testbed.taskQueue}`;
  await testbed.client.temporal.workflow.start(AGENT_RUN, { workflowId, taskQueue: testbed.taskQueue, args: [sentAsIs(text)] });
  const result = await testbed.client.handle(workflowId).result();
  expect(result).toMatchObject({ status: 'error', error: expect.stringContaining(problem) as string });
  expect(await failedTasks(testbed, workflowId)).toEqual([]);
});

test('a tool that returns, sets or updates too many levels, and a model that passes them as arguments, get an error result', async () => {
  await using testbed = await Testbed.open();
  const deep = (): never => JSON.parse(lists(10_000)) as never;
  const tools = [
    defineTool({ name: 'give', description: 'Gives', parameters: z.object({}), execute: deep }),
    defineTool({
      name: 'keep',
      description: 'Keeps',
      parameters: z.object({}),
      execute: (_, { setState }) => setState('deep', deep()),
    }),
    defineTool({
      name: 'change',
      description: 'Changes',
      parameters: z.object({}),
      execute: () => withUpdate('done', contextUpdate().set('deep', deep())),
    }),
    defineTool({ name: 'take', description: 'Takes', parameters: z.looseObject({}), execute: () => 'taken' }),
  ];
  const calls = [callTool('give', {}), callTool('keep', {}), callTool('change', {}), callTool('take', { deep: deep() })];
  const deepAgent = defineAgent({ name: 'deep', model: 'scripted/m', tools });
  await testbed.work({ agents: [deepAgent], providers: { scripted: scriptedModel([...calls, say('done')]) } });
  const run = await testbed.client.start(deepAgent, { input: 'Q', taskQueue: testbed.taskQueue });
  const { steps, status } = await run.result({ steps: true });
  expect(status).toBe('completed');
  const results = steps?.flatMap(({ toolCalls }) => toolCalls) ?? [];
  expect(results.map(({ isError }) => isError)).toEqual([true, true, true, true]);
  for (const { result } of results) expect(result).toContain(TOO_DEEP);
  expect(await failedTasks(testbed, run)).toEqual([]);
});
