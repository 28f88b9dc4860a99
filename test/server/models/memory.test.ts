import { expect, test } from 'vitest';
import { RECALL_FRAME } from '../../../src/core/domain/memory.ts';
import { defineAgent } from '../../../src/index.ts';
import { memoryNamespace } from '../../../src/memory/memory-store.ts';
import { callTool, say, type ScriptedModel, scriptedModel } from '../../../src/testing/index.ts';
import type { CreateWorkerOptions } from '../../../worker/index.ts';
import { fakeMemory } from '../../fakes/fake-memory.ts';
import { historyOf, Testbed } from '../testbed/testbed.ts';

const clerk = defineAgent({ name: 'clerk', model: 'scripted/m', memory: true });
const principal = { tenant: 'acme', user: 'ada' };
const namespace = memoryNamespace({ principal, agent: 'clerk' });
const VALUE = 'green, as the sea in the morning';
const SCRIPT = [callTool('remember', { key: 'size', value: 'L' }, 'c1'), callTool('recall', { query: 'size' }, 'c2'), say('done')];

/** Does a run on a testbed, and returns its id with the requests of the model. */
async function runOn(testbed: Testbed, more: Partial<CreateWorkerOptions> = {}): Promise<{ runId: string; scripted: ScriptedModel }> {
  const scripted = scriptedModel(SCRIPT);
  const memory = fakeMemory([{ namespace, key: 'colour', value: VALUE }]);
  await testbed.work({ agents: [clerk], providers: { scripted }, memory, ...more });
  const { runId } = await testbed.client.run(clerk, { input: 'My colour?', principal, taskQueue: testbed.taskQueue });
  return { runId, scripted };
}

test('recalled texts enter the history once, and adds no event to it', async () => {
  await using testbed = await Testbed.open();
  const { runId } = await runOn(testbed);
  const history = await historyOf(testbed, runId);
  const stored = history.flatMap(payloadTexts);
  expect(stored.filter((text) => text.includes(VALUE))).toHaveLength(1);
  const activities = history.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) => scheduled?.activityType?.name ?? []);
  expect(activities).toEqual(['resolveAgent', 'callModel', 'remember', 'callModel', 'recall', 'callModel']);
  // The principal is queried, and not written again.
  expect(stored.filter((text) => text.includes('"user":"ada"'))).toHaveLength(1);
}, 60_000);

test('a warm cache and no cache send byte-identical requests', async () => {
  await using testbed = await Testbed.open();
  const warm = await runOn(testbed);
  await using other = await Testbed.open();
  const evicted = await runOn(other, { transcriptCacheSize: 1, worker: { maxCachedWorkflows: 1 } });
  const requests = warm.scripted.requests.map((request) => JSON.stringify(request));
  expect(requests.every((request) => request.includes(RECALL_FRAME))).toBe(true);
  expect(evicted.scripted.requests.map((request) => JSON.stringify(request))).toEqual(requests);
}, 60_000);

test('a run that is read back from its history has the recalled texts', async () => {
  await using testbed = await Testbed.open();
  const { runId } = await runOn(testbed);
  const handle = testbed.client.handle(runId);
  const live = await Array.fromAsync(handle.events());
  await testbed.stopWorkers();
  const readBack = await Array.fromAsync(handle.events());
  expect(readBack).toEqual(live);
  expect(readBack[1]).toMatchObject({ author: 'memory', memory: { entries: 1 } });
}, 60_000);

test('a run that continues an earlier one recalls again, and gets nothing that was forgotten meanwhile', async () => {
  await using testbed = await Testbed.open();
  const { taskQueue } = testbed;
  const scripted = scriptedModel([say('Green.')], { repeatLast: true });
  const memory = fakeMemory([{ namespace, key: 'colour', value: VALUE }]);
  await testbed.work({ agents: [clerk], providers: { scripted }, memory });
  const first = await testbed.client.start(clerk, { input: 'My colour?', principal, taskQueue });
  await first.result();
  const saved = await first.save();
  expect(JSON.stringify(scripted.requests)).toContain(VALUE);
  expect(saved.messages.map(({ role, content }) => [role, content])).toEqual([
    ['user', 'My colour?'],
    ['assistant', 'Green.'],
  ]);
  await memory.forget({ namespace, key: 'colour' });
  await memory.remember({ namespace, key: 'hair colour', value: 'brown' });
  for (const begun of [{ saved }, { previousRunId: first.runId }]) {
    await testbed.client.run(clerk, { ...begun, input: 'And my colour now?', principal, taskQueue });
    const request = JSON.stringify(scripted.requests.at(-1)?.conversation);
    expect(request).not.toContain(VALUE);
    expect(request.split(RECALL_FRAME)).toHaveLength(2);
    expect(request).toContain('brown');
  }
  expect(memory.asked.map(({ text }) => text)).toEqual(['My colour?', 'And my colour now?', 'And my colour now?']);
}, 60_000);

/** All payloads of an event, as text. */
function payloadTexts(event: object): string[] {
  return Object.values(event).flatMap((value: unknown): string[] => {
    if (value instanceof Uint8Array) return [Buffer.from(value).toString()];
    return typeof value === 'object' && value !== null ? payloadTexts(value) : [];
  });
}
