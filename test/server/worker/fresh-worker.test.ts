import { expect, test } from 'vitest';
import { say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { slowLoading } from '../testbed/slow-loading.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const RUNS = 48;
/** The time that one run takes until it is loaded. All of them together take longer than a workflow task may: 10 seconds. */
const LOAD_MS = 250;
const MARK = 'takes long to load';

test('a fresh worker that many runs wait for does no workflow task twice', { timeout: 120_000 }, async () => {
  await using testbed = await Testbed.open();
  const { client, taskQueue } = testbed;
  const starts = Array.from({ length: RUNS }, (_, run) => client.start(assistant, { input: `Run ${run} ${MARK}`, taskQueue }));
  const runs = await Promise.all(starts);
  const scripted = scriptedModel(Array.from({ length: RUNS }, () => say('done')));
  await testbed.work({
    agents: [assistant],
    providers: { scripted },
    worker: { dataConverter: { payloadCodecs: [slowLoading(MARK, LOAD_MS)] } },
  });
  const results = await Promise.all(runs.map((run) => run.result()));
  expect(results.map(({ output }) => output)).toEqual(runs.map(() => 'done'));
  const histories = await Promise.all(runs.map((run) => historyOf(testbed, run)));
  expect(histories.flat().filter((event) => event.workflowTaskTimedOutEventAttributes)).toEqual([]);
});
