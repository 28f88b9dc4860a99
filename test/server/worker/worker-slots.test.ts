import { expect, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { callTool, say, scriptedModel, together } from '../../../src/testing/index.ts';
import { Testbed } from '../testbed/testbed.ts';

const RUNS = [1, 2, 3];
const CALLS = 40;

test.for(['remote', 'local'] as const)('a worker has slots for more than a hundred %s calls that wait at the same time', async (tier) => {
  await using testbed = await Testbed.open();
  const { promise: allAreThere, resolve } = Promise.withResolvers<void>();
  let waiting = 0;
  const meet = defineTool({
    name: 'meet',
    description: 'Waits for all others',
    parameters: z.object({}),
    tier,
    maxResultBytes: 1_000,
    execute: async () => {
      waiting += 1;
      if (waiting === RUNS.length * CALLS) resolve();
      await allAreThere;
    },
  });
  const agent = defineAgent({ name: 'host', model: 'scripted/m', tools: [meet] });
  const others = Array.from({ length: CALLS - 1 }, () => callTool('meet'));
  // No run gets its second answer before all runs have had their first.
  const scripted = scriptedModel([...RUNS.map(() => together(callTool('meet'), ...others)), ...RUNS.map(() => say('All were there.'))]);
  await testbed.work({ agents: [agent], providers: { scripted } });
  const { client, taskQueue } = testbed;
  const results = await Promise.all(RUNS.map(() => client.run(agent, { input: 'Q', taskQueue })));
  expect(results.map(({ output }) => output)).toEqual(RUNS.map(() => 'All were there.'));
  expect(waiting).toBe(RUNS.length * CALLS);
});
