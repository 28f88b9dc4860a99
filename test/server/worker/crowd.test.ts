import { expect, test } from 'vitest';
import { type CrowdModel, crowdModel } from '../../../bench/script/scripted-models.ts';
import { readerAgent } from '../../../bench/sides/reader-agent.ts';
import { promptFor } from '../../../bench/script/scripted-run.ts';
import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { Testbed } from '../testbed/testbed.ts';

const RUNS = 48;
const CACHED_RUNS = 12;
const TOOL_STEPS = 2;

/** Does all runs at the same time on one worker. */
async function play(options: Partial<CreateWorkerOptions>): Promise<{ requests: CrowdModel['requests']; outputs: unknown[] }> {
  await using testbed = await Testbed.open();
  const agent = readerAgent(2_000);
  const model = crowdModel();
  await testbed.work({ agents: [agent], providers: { fake: model }, ...options });
  const runs = Array.from({ length: RUNS }, async (_, run) => {
    const { output } = await testbed.client.run(agent, { input: `Run ${run}. ${promptFor(TOOL_STEPS)}`, taskQueue: testbed.taskQueue });
    return output;
  });
  return { outputs: await Promise.all(runs), requests: model.requests };
}

/** Without the repeated requests of further attempts: on a busy machine heartbeats are missed. */
function onceEach(requests: readonly string[]): string[] {
  return requests.filter((request, index) => request !== requests[index - 1]);
}

test('four times as many runs as the worker caches all finish, and send the same requests as with all of them cached', async () => {
  const cached = await play({ worker: { maxCachedWorkflows: 2 * RUNS } });
  // Without transcripts every call queries its run for the conversation, and most of these runs have to be replayed first.
  const crowded = await play({ worker: { maxCachedWorkflows: CACHED_RUNS }, transcriptCacheSize: 1 });
  expect(cached.outputs).toEqual(Array.from({ length: RUNS }, () => `Done: ${TOOL_STEPS} pages.`));
  expect(crowded.outputs).toEqual(cached.outputs);
  expect(cached.requests.size).toBe(RUNS);
  for (const [run, requests] of cached.requests) {
    expect(onceEach(requests)).toHaveLength(TOOL_STEPS + 1);
    expect(onceEach(crowded.requests.get(run) ?? [])).toEqual(onceEach(requests));
  }
}, 120_000);
