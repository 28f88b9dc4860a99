import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, inject, test } from 'vitest';
import { z } from 'zod';
import type { StreamPart } from '../../../activities/models/ai-sdk/language-model.ts';
import { defineAgent, defineTool, hosted } from '../../../src/index.ts';
import { durableTest, killWorker, testAgent } from '../../../src/testing/index.ts';
import { aiSdk, fileStore } from '../../../worker/index.ts';
import { fakeModel, FINISH, textParts } from '../../ai-sdk/fake-model.ts';

const directory = await mkdtemp(join(tmpdir(), 'longhaul-hosted-'));
afterAll(() => rm(directory, { recursive: true, force: true }));

const onServer = {
  timeout: '50s' as const,
  address: inject('temporalAddress'),
  namespace: inject('temporalNamespace'),
  worker: { workflowBundle: { codePath: inject('workflowBundlePath') } },
};

const look = defineTool({ name: 'look', description: 'Looks', parameters: z.object({}), execute: () => 'seen' });
const signed = { fake: { signature: 'S' } };
const DRAFT = Buffer.from('a draft').toString('base64');
const IMAGE = Buffer.alloc(100_000, 'x').toString('base64');

/** A search, its page, a thought with a picture, a text, a picture and a call: everything that an answer can have. */
const EVERYTHING: StreamPart[] = [
  {
    type: 'tool-call',
    toolCallId: 'h1',
    toolName: 'web_search',
    input: '{"query":"moon"}',
    providerExecuted: true,
    providerMetadata: signed,
  },
  { type: 'tool-result', toolCallId: 'h1', toolName: 'web_search', result: [{ encrypted: 'ENC' }] },
  { type: 'source', id: 's1', url: 'https://moon.test/', title: 'Moon' },
  { type: 'reasoning-file', mediaType: 'image/png', data: { type: 'data', data: DRAFT }, providerMetadata: signed },
  ...textParts('Look.').slice(0, 3),
  { type: 'file', mediaType: 'image/png', data: { type: 'data', data: IMAGE } },
  { type: 'tool-call', toolCallId: 'c1', toolName: 'look', input: '{}', providerMetadata: signed },
  FINISH,
];

test('hosted calls, sources and files are the same in the history as in memory, and go back after a worker was killed', async () => {
  const agent = defineAgent({ name: 'scout', model: 'fake/fake-1', tools: [look, hosted('fake.web_search')] });
  const payloadStore = fileStore({ directory });
  const prices = { 'fake/fake-1': { input: 1, output: 1, hosted: { web_search: 10 } } };
  const models = [fakeModel([EVERYTHING, textParts('Done.')]), fakeModel([EVERYTHING, textParts('Done.')])] as const;
  const given = { input: 'Q', prices };
  const inMemory = await testAgent(agent, { ...given, model: aiSdk(() => models[0]), payloadStore });
  const durable = await durableTest(agent, {
    ...given,
    ...onServer,
    model: aiSdk(() => models[1]),
    payloadStore,
    faults: [killWorker({ afterStep: 1 })],
  });
  const shown = ({ result, steps, events }: Pick<typeof inMemory, 'result' | 'steps' | 'events'>): object => ({
    result: [result.status, result.output, result.usage.costUsd],
    steps: steps.map((step) => [step.hosted, step.warnings]),
    events: events.map(({ content, sources, providerItems = [] }) => ({
      kinds: content.map((item) =>
        item.type === 'message' && typeof item.content !== 'string' ? item.content.map(({ type }) => type) : item.type,
      ),
      sources,
      owner: providerItems.map((item) => Object.keys(item as object).toSorted()),
    })),
  });
  expect(shown(durable)).toEqual(shown(inMemory));
  expect(durable.steps[0]?.hosted).toEqual([{ name: 'web_search', input: '{"query":"moon"}' }]);
  expect(durable.result.usage.costUsd).toBeGreaterThan(0.01);
  expect(JSON.stringify(durable.events)).not.toMatch(new RegExp(`${DRAFT}|ENC|${IMAGE.slice(0, 100)}`));
  expect(models[1].calls).toHaveLength(2);
  expect(models[1].calls[1]?.prompt).toEqual(models[0].calls[1]?.prompt);
  const sent = JSON.stringify(models[1].calls[1]?.prompt);
  for (const part of ['ENC', DRAFT, '"signature":"S"', 'Look.']) expect(sent).toContain(part);
});
