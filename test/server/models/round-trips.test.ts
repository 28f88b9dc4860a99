import { afterAll, beforeAll, describe, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { durableTest, killWorker } from '../../../src/testing/index.ts';
import { aiSdk } from '../../../worker/index.ts';
import type { Answer, Said } from '../../ai-sdk/families.ts';
import { FakeServer } from '../../ai-sdk/fake-server.ts';
import { PACKAGES } from '../../ai-sdk/packages.ts';
import { roundTrips } from '../../ai-sdk/round-trips.ts';
import { Testbed } from '../testbed/testbed.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

const V4 = PACKAGES.filter(({ name, spec }) => spec === 'v4' && ['anthropic', 'google', 'openai'].includes(name));

test.each(V4)('what $name sends goes back to it through the history, over all executions of a run', async (one) => {
  await using testbed = await Testbed.open();
  const trips = roundTrips(one);
  const providers = { p: aiSdk((id) => one.model(url, id)) };
  await testbed.work({ agents: trips.map(({ agent }) => agent), providers, continueAsNew: { events: 20 } });
  for (const { title, agent, script, output } of trips) {
    server.script(...script);
    const result = await testbed.client.run(agent, { input: 'Look.', taskQueue: testbed.taskQueue });
    expect({ title, refused: server.refused, status: result.status, output: result.output }).toEqual({
      title,
      refused: [],
      status: 'completed',
      output,
    });
  }
});

test.each(V4)('reasoning of $name goes back to it after a retry, too', async (one) => {
  await using testbed = await Testbed.open();
  const lookUp = defineTool({ name: 'look_up', description: 'L', parameters: z.object({ q: z.string() }), execute: () => 'found' });
  const settings =
    one.name === 'anthropic'
      ? { maxOutputTokens: 4_000, extra: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } } }
      : {};
  const agent = defineAgent({ name: 'clerk', model: `p/${one.modelId}`, tools: [lookUp], settings });
  await testbed.work({ agents: [agent], providers: { p: aiSdk((id) => one.model(url, id)) } });
  const call = (index: number): Said => ({ call: 'look_up', id: one.family.id(index), input: '{"q":"moon"}' });
  const step = (index: number): Answer => ({ parts: [{ thinking: 'Hmm.' }, call(index)] });
  server.script(step(1), step(2), one.family.failure(403, 'No access'), { parts: [{ text: 'Done.' }] });
  const run = await testbed.client.start(agent, { input: 'Look.', taskQueue: testbed.taskQueue });
  expect(await run.result()).toMatchObject({ status: 'error', errorCode: 'model_forbidden' });
  await run.retry();
  expect(await run.result()).toMatchObject({ status: 'completed', output: 'Done.' });
  expect(server.refused).toEqual([]);
  expect(JSON.stringify(server.last).split('sig_').length - 1).toBe(2);
});

describe.each(V4)('the kit on a server', (one) => {
  const trips = roundTrips(one).filter(({ title }) => /^several steps$|handoff|between calls/.test(title));

  test.each(trips)(
    `sends $title of ${one.name} back as its API demands, although a worker was killed`,
    async ({ agent, script, output }) => {
      server.script(...script);
      const { result } = await durableTest(agent, {
        input: 'Look.',
        model: aiSdk((id) => one.model(url, id)),
        faults: [killWorker({ afterStep: 1 })],
        address: inject('temporalAddress'),
        namespace: inject('temporalNamespace'),
        worker: { workflowBundle: { codePath: inject('workflowBundlePath') } },
      });
      expect(server.refused).toEqual([]);
      expect(result).toMatchObject({ status: 'completed', output });
    },
  );
});
