import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { LonghaulClient } from '../../../../src/client/index.ts';
import { defineAgent } from '../../../../src/index.ts';
import { memoryNamespace, type MemoryStore } from '../../../../src/memory/memory-store.ts';
import { inMemory } from '../../../../src/memory/file-memory.ts';
import type { PayloadStore } from '../../../../src/stores/payload-store.ts';
import { callTool, say, scriptedModel, together } from '../../../../src/testing/index.ts';
import { dump } from '../../testbed/agents.ts';
import { Testbed, until } from '../../testbed/testbed.ts';

/** A payload store in the process, whose writes wait. */
function slowPayloads(open: Promise<void>): PayloadStore & { stored: Set<string> } {
  const stored = new Set<string>();
  return {
    stored,
    name: 'slow',
    type: 'slow',
    store: async ({ target }) => {
      stored.add('begun');
      await open;
      stored.add(target?.id ?? '');
      return [];
    },
    retrieve: async () => [],
    deleteRun: async ({ runId }) => void stored.delete(runId),
  };
}

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', memory: { recall: false }, tools: [dump] });

test('what calls write that outlive the run of a forgotten user does not stay', async () => {
  await using testbed = await Testbed.open();
  const gate = Promise.withResolvers<void>();
  const memory = inMemory();
  const asked: string[] = [];
  const slow: MemoryStore = {
    ...memory,
    remember: async (entry) => {
      asked.push(entry.key);
      await gate.promise;
      const stored = await memory.remember(entry);
      asked.push('stored');
      return stored;
    },
  };
  const payloadStore = slowPayloads(gate.promise);
  const scripted = scriptedModel([together(say(''), callTool('remember', { key: 'size', value: 'L' }), callTool('dump', {}, 'c2'))]);
  await testbed.work({ agents: [clerk], providers: { scripted }, memory: slow, payloadStore, heartbeatEvery: 200 });
  const client = new LonghaulClient(testbed.client.temporal, { taskQueue: testbed.taskQueue, memory, payloadStore });
  const principal = { user: `ada-${randomUUID()}` };
  const run = await client.start(clerk, { input: 'Q', principal });
  await until(() => asked.includes('size') && payloadStore.stored.has('begun'), 'the writes to begin', 20);
  await expect(client.forget({ ...principal, without: ['archive', 'streams'], timeout: 1 })).rejects.toMatchObject({
    code: 'wait_timeout',
  });
  expect(await client.forget({ ...principal, without: ['archive', 'streams'], grace: '1s' })).toMatchObject({
    runs: [run.runId],
    memoryEntries: 0,
  });

  gate.resolve();
  await until(() => asked.includes('stored'), 'the late write', 20);
  const entries = async (): Promise<number> =>
    (await memory.list({ namespace: memoryNamespace({ principal, agent: 'clerk' }) })).entries.length;
  await until(async () => (await entries()) === 0 && !payloadStore.stored.has(run.runId), 'what was written to be removed', 20);
  expect(await client.forget({ ...principal, without: ['archive', 'streams'] })).toMatchObject({ runs: [], memoryEntries: 0 });
}, 300_000);
