import type { PayloadCodec } from '@temporalio/common';
import { expect, test } from 'vitest';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { assistant } from '../testbed/agents.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

/** Runs something once, when the result of a run is on its way to the server. */
function beforeTheEnd(run: () => Promise<unknown>): PayloadCodec {
  let hasRun = false;
  return {
    encode: async (payloads) => {
      const isEnd = payloads.some(({ data }) => Buffer.from(data ?? []).includes('"status":"completed"'));
      if (isEnd && !hasRun) {
        hasRun = true;
        await run();
      }
      return payloads;
    },
    decode: (payloads) => Promise.resolve(payloads),
  };
}

test('an end that the server refuses, because a message has arrived meanwhile, is not reported: the run has one end', async () => {
  await using testbed = await Testbed.open();
  const sdk = new RecordingSdk(idGenerator);
  const meterProvider = new RecordingMeter();
  const telemetry = new Telemetry(plainApi(sdk), { meterProvider });
  const runId = `refused-${testbed.taskQueue}`;
  const scripted = scriptedModel([say('first'), say('second')]);
  const codec = beforeTheEnd(() => testbed.client.temporal.workflow.getHandle(runId).signal('send', { text: 'One more thing' }));
  await testbed.work({ agents: [assistant], providers: { scripted }, telemetry, worker: { dataConverter: { payloadCodecs: [codec] } } });
  const run = await testbed.client.start(assistant, { runId, input: 'Q', taskQueue: testbed.taskQueue });
  const result = await run.result();
  await testbed.stopWorkers();

  const failures = (await historyOf(testbed, run)).filter(({ workflowTaskFailedEventAttributes: failed }) => failed != null);
  expect(failures).toHaveLength(1);
  const ends = sdk.exported.filter(({ name }) => name === 'invoke_agent assistant');
  expect(ends).toHaveLength(1);
  expect(meterProvider.sum('longhaul.runs.ended')).toBe(1);
  expect(ends[0]?.endTime).toBe(Date.parse(result.endTime ?? ''));
  expect(telemetry.dropped).toBe(0);
});
