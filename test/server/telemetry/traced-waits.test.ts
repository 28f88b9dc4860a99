import { expect, test } from 'vitest';
import { z } from 'zod';
import type { RunHandle } from '../../../src/client/index.ts';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import type { OtlpSpan } from '../../../src/telemetry/otlp.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { type ExportedSpan, plainApi, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { Testbed, until } from '../testbed/testbed.ts';

const pay = defineTool({
  name: 'pay',
  description: 'Pays',
  parameters: z.object({}),
  approval: 'always',
  execute: () => 'paid',
});
const cashier = defineAgent({ name: 'cashier', model: 'scripted/model-1', instructions: 'You pay.', tools: [pay] });

interface Ended {
  testbed: Testbed;
  run: RunHandle<unknown>;
}

/** How a wait ends without a decision, and its outcome. */
const WAYS: [string, object, ({ testbed, run }: Ended) => Promise<unknown>][] = [
  ['cancelled', {}, async ({ run }) => run.cancel('seen')],
  ['deadline', { limits: { deadline: '3s' } }, async () => undefined],
  ['message', {}, async ({ run }) => run.send('Never mind', { mode: 'steer' })],
];

async function waiting(testbed: Testbed, options: object): Promise<Ended> {
  const run = await testbed.client.start(cashier, { input: 'Q', taskQueue: testbed.taskQueue, ...options });
  await until(async () => (await run.approvals()).pending.length === 1, 'the call waits', 60);
  return { testbed, run };
}

/** Reads the spans of a run from its record. */
async function spansOf(run: Ended['run']): Promise<OtlpSpan[]> {
  return (await run.exportTrace()).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans));
}

const wait = ({ spanId, attributes, startTime = 0, endTime = 0 }: ExportedSpan): object => ({ spanId, attributes, startTime, endTime });

test.each(WAYS)(
  'a wait for a decision that ends without one (%s) is a span, and the same in a fold of the record',
  async (outcome, options, end) => {
    await using testbed = await Testbed.open();
    const sdk = new RecordingSdk(idGenerator);
    const scripted = scriptedModel([callTool('pay', {}), say('Then not')]);
    await testbed.work({ agents: [cashier], providers: { scripted }, telemetry: new Telemetry(plainApi(sdk), {}) });
    const ended = await waiting(testbed, options);
    await end(ended);
    await ended.run.result();
    await until(() => sdk.exported.some(({ name }) => name === 'invoke_agent cashier'), 'the span of the run');
    const waits = sdk.exported.filter(({ name }) => name === 'longhaul.wait').map(wait);
    expect(waits).toMatchObject([{ attributes: { 'longhaul.wait.outcome': outcome, 'gen_ai.tool.name': 'pay' } }]);
    expect(JSON.stringify(waits)).not.toContain('longhaul.decision');
    const folded = (await spansOf(ended.run)).find(({ name }) => name === 'longhaul.wait');
    expect(folded).toMatchObject({
      spanId: (waits[0] as ExportedSpan).spanId,
      startTimeUnixNano: `${(waits[0] as ExportedSpan).startTime}000000`,
    });
    expect(folded?.endTimeUnixNano).toBe(`${(waits[0] as ExportedSpan).endTime}000000`);
  },
);

test('the wait of a run that an operator has terminated is in a fold of the record', async () => {
  await using testbed = await Testbed.open();
  await testbed.work({ agents: [cashier], providers: { scripted: scriptedModel([callTool('pay', {})]) } });
  const { run } = await waiting(testbed, {});
  await testbed.client.temporal.workflow.getHandle(run.runId).terminate('seen');
  const spans = await spansOf(run);
  expect(spans.map(({ name }) => name)).toEqual(['longhaul.wait', 'invoke_agent cashier']);
  expect(JSON.stringify(spans[0])).toContain('"terminated"');
});
