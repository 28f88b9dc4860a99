import { expect, test } from 'vitest';
import { defineProgram, recall, tool, unit } from '../../src/define/program/index.ts';
import { ACTIVITIES, type RunToolInput, type RunToolOutput } from '../../src/core/protocol.ts';
import { isFullFor } from '../../src/history/recorded-execution.ts';
import { readBack } from '../../src/history/read-run.ts';
import { testSnapshot, testTool } from '../core/loop/fakes/snapshot.ts';
import { APART, BEGAN, HandMade } from './hand-made.ts';

const { document } = defineProgram({
  name: 'side-by-side',
  units: [unit('one', { needs: [] }, [tool('Far', 'fetch')]), unit('two', { needs: [] }, [tool('Near', 'stamp')])],
  output: ['{{one.Far}}', '{{two.Near}}'],
});
const tools = [testTool('fetch'), testTool('stamp')];

test('the calls of a program are found by their ids: parallel steps may be recorded in another order than they are read', async () => {
  const made = new HandMade({ ...testSnapshot({ tools }), program: document });
  const { recorded } = made;
  recorded.program = { program: document.name };
  delete recorded.input;
  const output = (text: string): RunToolOutput => ({ id: text, content: [text], durationMs: 1 });
  const call = (name: string, callId: string, offset: number, text: string): void => {
    const input: RunToolInput = { agentName: '', callId, step: 1, at: [offset, 0], eventId: `event-of-${callId}`, timeoutMs: 60_000 };
    made.activity(name, input, { asked: 2, ended: 3 }, output(text));
  };
  call('stamp', 'two.Near', 2, 'stamped');
  call('fetch', 'one.Far', 40, 'fetched');
  const { result, state } = await readBack('r', recorded);
  expect(result).toMatchObject({ status: 'completed', output: ['fetched', 'stamped'] });
  const calls = state?.context.events.filter(({ content }) => content[0]?.type === 'tool_call') ?? [];
  expect(calls.map(({ id, author }) => [author, id])).toEqual([
    ['one.Far', 'event-of-one.Far'],
    ['two.Near', 'event-of-two.Near'],
  ]);
});

test('a cancelled program waits for no use of its memory, as its workflow did not', async () => {
  const recalling = defineProgram({ name: 'recalling', units: [unit('one', {}, [recall('Find', 'key')])], output: '{{one.Find}}' });
  const made = new HandMade({ ...testSnapshot(), program: recalling.document });
  const { recorded } = made.activity(ACTIVITIES.useMemory, { step: 'one.Find' }, { asked: 2 }, null).cancel(4);
  recorded.program = { program: recalling.name };
  delete recorded.input;
  const { result } = await readBack('r', recorded);
  expect(result).toMatchObject({ status: 'cancelled', endTime: new Date(BEGAN + 4 * APART).toISOString() });
});

const WAITING = { events: 4, bytes: 1_000 };
const ACTIVITY = { events: 6, bytes: 3_000 };
const THRESHOLDS = { events: 90, bytes: 50_000, updates: 100 };

test('a history that was too full for an activity alone was not full for a run that only waits', () => {
  const size = { events: 86, bytes: 20_000, isSuggested: false };
  expect(isFullFor(ACTIVITY, size, THRESHOLDS)).toBe(true);
  expect(isFullFor(WAITING, size, THRESHOLDS)).toBe(false);
  expect(isFullFor(WAITING, { events: 20, bytes: 48_000, isSuggested: false }, THRESHOLDS)).toBe(false);
  expect(isFullFor(WAITING, { events: 20, bytes: 49_500, isSuggested: false }, THRESHOLDS)).toBe(true);
});

test('a run that continued for a reason other than its history size counts as full for everything, and so does a run of unknown size', () => {
  expect(isFullFor(WAITING, { events: 10, bytes: 100, isSuggested: false }, THRESHOLDS)).toBe(true);
  expect(isFullFor(WAITING, undefined, THRESHOLDS)).toBe(true);
  expect(isFullFor(WAITING, { events: 3_595, bytes: 100, isSuggested: false }, undefined)).toBe(false);
});
