import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { callCli } from '../../cli/call-cli.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const refund = defineTool({
  name: 'refund',
  description: 'Refunds an order',
  parameters: z.object({ order: z.number() }),
  approval: 'always',
  execute: ({ order }, { setState }) => {
    setState('refunded', order);
    return 'refunded';
  },
});

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', tools: [refund], deps: z.object({ user: z.string() }) });

test('the trace of an agent has its steps, model calls, tool calls and waits, with a worker and without one; so has its result', async () => {
  await using testbed = await Testbed.open();
  const scripted = scriptedModel([callTool('refund', { order: 7 }), say('Done')]);
  await testbed.work({ agents: [clerk], providers: { scripted } });
  const { taskQueue } = testbed;
  const run = await testbed.client.start(clerk, { input: 'Refund 7', deps: { user: 'ada' }, state: { seen: true }, taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the approval');
  const open = await run.trace();
  expect(open.spans.map(({ name }) => name)).toEqual(['step:1']);
  expect(open.spans[0]?.children.map(({ name, endTime }) => [name, endTime === undefined])).toEqual([
    ['model', false],
    ['tool:refund', true],
  ]);
  for (const pending of (await run.approvals()).pending) await run.approve(pending);

  const result = await run.result({ steps: true, trace: true, deps: true, state: true });
  expect(result).toMatchObject({ status: 'completed', deps: { user: 'ada' }, state: { seen: true, refunded: 7 } });
  expect(result.steps).toHaveLength(2);
  const { trace } = result;
  expect(trace).toMatchObject({ programName: 'clerk', backendName: 'scripted' });
  expect(trace.spans.map(({ name, children }) => [name, ...children.map((child) => child.name)])).toEqual([
    ['step:1', 'model', 'wait:refund', 'tool:refund'],
    ['step:2', 'model'],
  ]);
  expect(JSON.parse(JSON.stringify(result))).toMatchObject({ trace: { program_name: 'clerk' }, state: { refunded: 7 } });
  expect((await callCli(['trace', run.runId, '--address', testbed.address])).stdout).toMatch(
    /clerk · scripted .*\n.*step:1 .*\n[^]*wait:refund/,
  );

  const withWorker = trace.toJSON();
  await testbed.stopWorkers();
  expect((await run.trace()).toJSON()).toEqual(withWorker);
  expect(await run.result({ deps: true, state: true })).toMatchObject({ deps: { user: 'ada' }, state: { refunded: 7 } });
}, 60_000);
