import { Worker } from '@temporalio/worker';
import { expect, inject, test } from 'vitest';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { callTool, say, scriptedModel } from '../../../src/testing/index.ts';
import { LonghaulPlugin } from '../../../worker/index.ts';
import { recordedHistories } from '../../replay/histories.ts';
import { plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { assistant } from '../testbed/agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

/** One in this many recorded histories is replayed. */
const EVERY = 10;

test('a replay reports no span and counts nothing: nothing that a run has reported is reported again', async () => {
  await using testbed = await Testbed.open();
  const sdk = new RecordingSdk(idGenerator);
  const meterProvider = new RecordingMeter();
  const telemetry = new Telemetry(plainApi(sdk), { meterProvider });
  const scripted = scriptedModel([callTool('search', { query: 'Q' }), say('done')]);
  await testbed.work({ agents: [assistant], providers: { scripted }, telemetry });
  const run = await testbed.client.start(assistant, { input: 'Q', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'completed' });
  await until(() => meterProvider.sum('longhaul.runs.ended') === 1 && sdk.exported.length === 4, 'the spans of the run');
  await testbed.stopWorkers();

  const reported = [sdk.exported.length, meterProvider.measured.length];
  const own = { workflowId: run.runId, history: { events: await historyOf(testbed, run) } };
  const others = recordedHistories().flatMap(({ runId, history }, index) => (index % EVERY === 0 ? [{ workflowId: runId, history }] : []));
  const workflowBundle = { codePath: inject('workflowBundlePath') };
  const plugins = [new LonghaulPlugin({ agents: [], providers: {}, telemetry })];
  let replayed = 0;
  for await (const { error } of Worker.runReplayHistories({ workflowBundle, plugins }, [own, ...others])) {
    expect(error).toBeUndefined();
    replayed += 1;
  }
  expect(replayed).toBe(others.length + 1);
  expect([sdk.exported.length, meterProvider.measured.length]).toEqual(reported);
});
