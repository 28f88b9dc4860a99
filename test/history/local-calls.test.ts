import { CancelledFailure } from '@temporalio/common';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import { ExecutionReader } from '../../src/history/execution-reader.ts';
import { readBack } from '../../src/history/read-run.ts';
import { defineTool } from '../../src/define/define-tool.ts';
import type { ToolCall } from '../../src/core/domain/content.ts';
import { newSnapshot } from '../fakes/snapshot.ts';
import { APART, BEGAN, HandMade } from './hand-made.ts';
import { CONVERTER, recordedChains } from './recorded-histories.ts';

const tool = (name: string, tier: 'local' | 'remote') =>
  defineTool({ name, description: name, parameters: z.object({}), tier, execute: () => '' });
const tools = [tool('note', 'local'), tool('count', 'local'), tool('fetch', 'remote')];
const snapshot = newSnapshot({ tools });
const inSequence = newSnapshot({ tools, parallel: false });

const DONE = [{ type: 'message', role: 'assistant', content: 'done' }] as const;

function calls(...names: string[]): ToolCall[] {
  return names.map((name, index) => ({ type: 'tool_call', toolCallId: `c${index}`, name, arguments: {} }));
}

/** The result texts of the calls in the first step. */
async function resultsOf({ recorded }: HandMade): Promise<string[]> {
  const { state } = await readBack('r', recorded);
  return state?.steps[0]?.toolCalls.map(({ result }) => result) ?? [];
}

test('a failure belongs to the first call of its name without a result, in the order the calls began', async () => {
  const asked = calls('note', 'count', 'note', 'note');
  const made = new HandMade(snapshot)
    .model(1, { asked: 2, ended: 3 }, asked)
    .local(3, 'note', { seq: 6, failure: 'the second of the notes failed' })
    .local(3, 'count', { at: [1, 1], result: 'one' })
    .local(3, 'note', { at: [1, 0], result: 'noted' })
    .local(3, 'note', { seq: 5, failure: 'the first of them failed' })
    .model(3, { asked: 3, ended: 4 }, [...DONE]);
  expect(await resultsOf(made)).toEqual(['noted', 'one', 'the first of them failed', 'the second of the notes failed']);
});

test("sequential calls end in order in one task, each at its time on the workflow's clock", async () => {
  const { recorded } = new HandMade(inSequence)
    .model(1, { asked: 2, ended: 3 }, calls('note', 'fetch', 'count'))
    .local(3, 'note', { at: [1, 0], result: 'noted' }, 20)
    .tool(1, 1, { asked: 3, ended: 4 }, 'fetched')
    .local(4, 'count', { at: [1, 2], result: 'one' }, 30)
    .model(3, { asked: 4, ended: 5 }, [...DONE]);
  const { state, result } = await readBack('r', recorded);
  expect(result).toMatchObject({ status: 'completed', stepsUsed: 2 });
  expect(state?.context.events[2]).toMatchObject({ timestamp: new Date(BEGAN + 4 * APART + 30).toISOString() });
});

test('a call that lasts over several tasks ends with the task that saw its end, and runs until then', async () => {
  const begun = (): HandMade =>
    new HandMade(snapshot).model(1, { asked: 2, ended: 3 }, calls('note', 'fetch')).tool(1, 1, { asked: 3, ended: 4 }, 'fetched');
  const before = await readBack('r', begun().arrival('update', 5, 'send', { id: 'm', content: 'hm' }).recorded);
  expect(before.state?.context.events.length).toBe(2);
  const ended = begun()
    .arrival('update', 5, 'send', { id: 'm', content: 'hm' })
    .local(6, 'note', { at: [1, 0], result: 'noted' }, 10);
  const { state } = await readBack('r', ended.recorded);
  expect(state?.context.events.map(({ author, timestamp }) => [author, Date.parse(timestamp) - BEGAN])).toEqual([
    ['user', 0],
    ['bot', 3 * APART],
    ['bot', 6 * APART + 10],
    ['user', 5 * APART],
  ]);
});

test('a run that is cancelled during a call is read as its history has it', async () => {
  const made = new HandMade(snapshot).model(1, { asked: 2, ended: 3 }, calls('note', 'count'));
  made.local(3, 'count', { at: [1, 1], result: 'one' }).cancel(4);
  made.recorded.localCalls.push({
    input: { seq: 3, name: 'note' },
    scheduledIn: 4,
    task: 4,
    failure: new CancelledFailure('cancelled'),
  });
  const { state, result } = await readBack('r', made.recorded);
  expect(result).toMatchObject({ status: 'cancelled', stepsUsed: 1 });
  expect(state?.steps[0]?.toolCalls.map(({ isError }) => isError)).toEqual([true, false]);
});

test('a run that continued as new after a local call, and before the next one, is read in this order', async () => {
  const { recorded } = new HandMade(inSequence, 3)
    .model(1, { asked: 2, ended: 3 }, calls('note', 'count'))
    .local(3, 'note', { at: [1, 0], result: 'noted' });
  const { state, result } = await readBack('r', { ...recorded, end: { type: 'continued', executionId: 'next' }, decidedIn: 3 });
  expect(result).toBeUndefined();
  expect(state?.context.events.length).toBe(2);
  expect(Object.fromEntries(state?.toolCallsStarted ?? [])).toEqual({ note: 1 });
});

describe('a local call that the run repeats because its worker has evicted the run', () => {
  test.each(['local-tools', 'local-tools-cancelled'])('%s is read as if it had been made once', async (runId) => {
    const [{ recorded, events } = { recorded: undefined, events: [] }] = (await recordedChains()).get(runId) ?? [];
    if (recorded === undefined) throw new Error(`There is no recorded run "${runId}"`);
    const reader = new ExecutionReader(runId, CONVERTER);
    let forged = 0;
    for (const event of events) {
      const { markerRecordedEventAttributes: marker } = event;
      if (marker?.markerName === 'core_local_activity' && marker.failure == null) {
        const failure = { message: 'Local activity cancelled', canceledFailureInfo: {} };
        await reader.read({
          ...event,
          markerRecordedEventAttributes: { ...marker, details: { data: marker.details?.['data'] ?? {} }, failure },
        });
        forged += 1;
      }
      await reader.read(event);
    }
    expect(forged).toBeGreaterThan(0);
    expect(reader.execution.localCalls).toEqual(recorded.localCalls);
    expect((await readBack(runId, reader.execution)).state?.steps).toEqual((await readBack(runId, recorded)).state?.steps);
  });
});
