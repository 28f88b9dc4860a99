import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import type { RunListEntry } from '../../../src/client/index.ts';
import { callTool, hang, say, scriptedModel } from '../../../src/testing/index.ts';
import { assistant } from '../testbed/agents.ts';
import { historyOf, Testbed, until } from '../testbed/testbed.ts';

/** The end of the first execution: the time of its last event. */
async function endOfFirst(testbed: Testbed, runId: string): Promise<Date> {
  const events = await historyOf(testbed, runId);
  const continued = events.find((event) => event.workflowExecutionStartedEventAttributes);
  const { seconds, nanos } = continued?.eventTime ?? {};
  return new Date(Number(seconds ?? 0) * 1000 + (nanos ?? 0) / 1e6);
}

test('lists, filters, counts and durations go by the start of a run, and not of its newest execution', async () => {
  await using testbed = await Testbed.open();
  const { client, taskQueue } = testbed;
  const scripted = scriptedModel([callTool('search', { query: 'a' }), callTool('search', { query: 'b' }), say('done'), hang()]);
  await testbed.work({ agents: [assistant], providers: { scripted }, continueAsNew: { events: 8 } });
  const tag = randomUUID();
  const runIdPrefix = `of-${tag}`;
  const start = { input: 'Q', taskQueue, tags: [tag] };
  const before = new Date();
  const { runId } = await client.run(assistant, { ...start, runId: `${runIdPrefix}-long` });
  const { startTime } = await client.handle(runId).status();
  const between = await endOfFirst(testbed, runId);
  expect(Date.parse(startTime)).toBeLessThan(between.getTime());
  const listed = (filter: object = {}): Promise<RunListEntry[]> => Array.fromAsync(client.list({ runIdPrefix, ...filter }));
  await until(async () => typeof (await listed())[0]?.endTime === 'string', 'the run is listed with its end');

  const [entry] = await listed();
  expect(entry).toMatchObject({ startTime, durationMs: Date.parse(entry?.endTime ?? '') - Date.parse(startTime) });
  const bound = between.toISOString();
  const ids = async (filter: object): Promise<string[]> => (await listed(filter)).map((one) => one.runId);
  expect(await ids({ startedAfter: before.toISOString() })).toEqual([runId]);
  expect(await ids({ startedAfter: bound })).toEqual([]);
  expect(await ids({ startedBefore: bound })).toEqual([runId]);
  expect(await ids({ startedBefore: bound, tag })).toEqual([runId]);
  expect(await client.counts('status', { runIdPrefix, startedAfter: bound })).toMatchObject({ total: 0 });
  expect(await client.counts('status', { runIdPrefix, startedBefore: bound })).toMatchObject({ total: 1 });

  // A run in one execution spends no event on its start.
  const plain = await client.start(assistant, { ...start, runId: `${runIdPrefix}-plain` });
  await until(async () => (await ids({ startedAfter: bound })).length === 1, 'the other run is listed');
  expect(await ids({ startedAfter: bound })).toEqual([plain.runId]);
  await until(() => scripted.requests.length === 4, 'the model call of the other run');
  const upserts = (await historyOf(testbed, plain.runId)).filter((event) => event.upsertWorkflowSearchAttributesEventAttributes);
  expect(upserts).toHaveLength(1);
});
