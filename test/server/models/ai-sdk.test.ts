import { afterAll, beforeAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import { defineAgent, defineTool } from '../../../src/index.ts';
import { durableTest, killWorker, testAgent } from '../../../src/testing/index.ts';
import { aiSdk } from '../../../worker/index.ts';
import type { Said } from '../../ai-sdk/families.ts';
import { FakeServer } from '../../ai-sdk/fake-server.ts';
import { PACKAGES } from '../../ai-sdk/packages.ts';

const server = new FakeServer();
let url = '';
beforeAll(async () => {
  url = await server.start();
});
afterAll(() => server.close());

const lookUp = defineTool({
  name: 'look_up',
  description: 'Looks',
  parameters: z.object({ q: z.string() }),
  execute: ({ q }) => `found ${q}`,
});
const itemsOf = ({ events }: { events: readonly { providerItems?: unknown }[] }): unknown[] =>
  events.flatMap(({ providerItems }) => (providerItems === undefined ? [] : [providerItems]));
const thinking = { maxOutputTokens: 4_000, extra: { anthropic: { thinking: { type: 'enabled', budgetTokens: 1_024 } } } };

const onServer = {
  timeout: '50s' as const,
  address: inject('temporalAddress'),
  namespace: inject('temporalNamespace'),
  worker: { workflowBundle: { codePath: inject('workflowBundlePath') } },
};

test.each(PACKAGES.filter(({ name, spec }) => spec === 'v4' && (name === 'anthropic' || name === 'google')))(
  'reasoning of $name comes back to it through the history of a run, also in another worker',
  async ({ name, family, modelId, model }) => {
    const call = (index: number, q: string): Said => ({ call: 'look_up', id: family.id(index), input: JSON.stringify({ q }) });
    const answers = [
      { parts: [{ thinking: 'Hmm.' }, { text: 'I look.' }, call(1, 'moon'), call(2, 'sun')] },
      { parts: [{ thinking: 'Well.' }, call(3, 'mars')] },
      { parts: [{ text: 'All found.' }] },
    ];
    const settings = name === 'anthropic' ? thinking : {};
    const agent = defineAgent({ name: 'clerk', model: `p/${modelId}`, tools: [lookUp], settings });
    const client = aiSdk((id) => model(url, id));
    server.script(...answers);
    const inMemory = await testAgent(agent, { input: 'Look.', model: client });
    server.script(...answers);
    const durable = await durableTest(agent, { input: 'Look.', model: client, ...onServer, faults: [killWorker({ afterStep: 1 })] });
    expect(server.refused).toEqual([]);
    expect(server.requests).toHaveLength(3);
    expect(durable.result).toMatchObject({ status: 'completed', output: 'All found.' });
    // Gemini names no calls: its package invents another id each time.
    expect(itemsOf(durable)).toEqual(itemsOf(inMemory));
    expect(itemsOf(durable)).toHaveLength(2);
  },
);
