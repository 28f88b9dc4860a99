import { expect, test } from 'vitest';
import { z } from 'zod';
import { agentTool, defineAgent, defineTool, quickjs } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { type ExportedSpan, plainApi, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { Testbed, until } from '../testbed/testbed.ts';

test('the calls, the waits and the agents of a cell of code are below the cell, and the cell is below its run', async () => {
  await using testbed = await Testbed.open();
  const sdk = new RecordingSdk(idGenerator);
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    parameters: z.object({ at: z.string() }),
    execute: ({ at }) => `seen ${at}`,
  });
  const pay = defineTool({ name: 'pay', description: 'Pays', parameters: z.object({}), approval: 'always', execute: () => 'paid' });
  const helper = defineAgent({ name: 'helper', model: 'scripted/helper', instructions: 'Help.', description: 'Helps' });
  const coder = defineAgent({
    name: 'coder',
    model: 'scripted/coder',
    tools: [look, pay, agentTool(helper)],
    code: { executor: quickjs() },
  });
  const code = 'print(look({ at: "1" })); print(look({ at: "2" })); print(pay({})); print(helper({ request: "Q" }));';
  const scripted = scriptedModel([callTool('run_code', { code }), say('helped'), say('done')]);
  await testbed.work({ agents: [coder, helper], providers: { scripted }, telemetry: new Telemetry(plainApi(sdk), {}) });
  const run = await testbed.client.start(coder, { input: 'Go', taskQueue: testbed.taskQueue });
  await until(async () => (await run.approvals()).pending.length === 1, 'the call waits');
  const [waiting] = (await run.approvals()).pending;
  if (waiting !== undefined) await run.approve(waiting);
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'done' });
  await until(() => sdk.exported.some(({ name }) => name === 'invoke_agent coder'), 'the span of the run');

  const spans = sdk.exported;
  const one = (name: string): ExportedSpan => spans.find((span) => span.name === name) as ExportedSpan;
  const cell = one('execute_tool run_code');
  expect(cell.parentSpanId).toBe(one('invoke_agent coder').spanId);
  const below = spans.filter(({ parentSpanId }) => parentSpanId === cell.spanId).map(({ name }) => name);
  expect(below.toSorted()).toEqual(['execute_tool helper', 'execute_tool look', 'execute_tool look', 'execute_tool pay', 'longhaul.wait']);
  expect(one('invoke_agent helper').parentSpanId).toBe(one('execute_tool helper').spanId);
  const ids = new Set(spans.map(({ spanId }) => spanId));
  expect(spans.filter(({ parentSpanId }) => parentSpanId !== undefined && !ids.has(parentSpanId))).toEqual([]);
  for (const { startTime = 0, endTime = Infinity } of [one('longhaul.wait'), one('execute_tool helper')]) {
    expect(startTime).toBeGreaterThanOrEqual(cell.startTime ?? Infinity);
    expect(endTime).toBeLessThanOrEqual(cell.endTime ?? 0);
  }
  // Whoever folds the record later makes the same span.
  const folded = (await run.exportTrace()).resourceSpans[0]?.scopeSpans[0]?.spans.find(({ name }) => name === cell.name);
  expect([folded?.spanId, folded?.parentSpanId, folded?.startTimeUnixNano]).toEqual([
    cell.spanId,
    cell.parentSpanId,
    `${cell.startTime}000000`,
  ]);
}, 60_000);
