import { expect, it } from 'vitest';
import type { StepNote } from '../../../src/core/domain/verdicts.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream.ts';
import { fold, newView } from '../../../src/client/stream/stream-view.ts';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';

const DRAFT = { at: 'main.Draft', kind: 'ask' };

const REFINED: StreamedAttempt = { executionId: 'execution-1', eventId: 'never', callId: DRAFT.at, activity: 1, attempt: 1 };
const BROKEN = { code: 'model_call_failed', message: 'broken off', context: {} } as const;

const settled = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 50));

function note(run: FakeRun, id: string, step: StepNote): void {
  run.record(id, [], { step });
}

function emit(run: FakeRun, of: StreamedAttempt, text: string): void {
  run.publish({ type: 'delta', of, index: 0, delta: { type: 'text', text } });
}

/** Streams the beginning of an answer. */
function begin(run: FakeRun, of: StreamedAttempt, text: string): void {
  run.publish({ type: 'attempt', of });
  emit(run, of, text);
}

/** Reads to the end in the background. */
function collect(run: FakeRun): { items: StreamItem[]; reading: Promise<void> } {
  const items: StreamItem[] = [];
  const reading = (async () => {
    for await (const item of feedsOf(run).stream()) items.push(item);
  })();
  return { items, reading };
}

async function finish(run: FakeRun, reading: Promise<void>): Promise<void> {
  run.end();
  run.announce();
  await reading;
}

/** The words of each call in flight, by its id. */
const liveIn = (items: readonly StreamItem[]): unknown[] => items.reduce(fold, newView()).live.map(({ callId, text }) => [callId, text]);

/** The resets among the items, and the ids of the events between them. */
const resetsAndEvents = (items: readonly StreamItem[]): unknown[] =>
  items.flatMap((item): unknown[] => {
    if (item.type === 'event') return [item.event.id];
    if (item.type !== 'reset') return [];
    const { cursor: _, ...reset } = item;
    return [reset];
  });

/** A program whose step gives up after an attempt that failed in the middle of its answer: no event has the id of that answer. */
function givenUp(): FakeRun {
  const run = new FakeRun();
  note(run, 'e1', { ...DRAFT, type: 'start' });
  begin(run, REFINED, 'half an ans');
  note(run, 'e2', { ...DRAFT, type: 'attempt', attempt: 1, error: BROKEN });
  note(run, 'e3', { ...DRAFT, type: 'end', status: 'skipped' });
  run.announce();
  return run;
}

it('shows no output of a failed attempt to a reader that comes once the step has ended', async () => {
  const run = givenUp();
  const { items, reading } = collect(run);
  await settled();
  expect(items.reduce(fold, newView())).toMatchObject({ events: run.events, live: [] });
  await finish(run, reading);
  expect(items.filter(({ type }) => type === 'delta')).toEqual([]);
});

it('discards the output of a failed attempt before the step ends by its fallback, and keeps the output of other steps', async () => {
  const run = new FakeRun();
  const { items, reading } = collect(run);
  await settled();
  note(run, 'e1', { ...DRAFT, type: 'start' });
  begin(run, REFINED, 'half an ans');
  begin(run, { ...REFINED, eventId: 'other', callId: 'main.Other', activity: 2 }, 'beside');
  run.announce();
  await settled();
  expect(liveIn(items)).toEqual([
    ['main.Draft', 'half an ans'],
    ['main.Other', 'beside'],
  ]);

  note(run, 'e2', { ...DRAFT, type: 'attempt', attempt: 1, error: BROKEN });
  run.announce();
  await settled();
  expect(liveIn(items)).toEqual([['main.Other', 'beside']]);
  // The step takes the output of another one, which streams its answer and records it.
  note(run, 'e3', { at: 'main.Plain', kind: 'ask', type: 'start' });
  begin(run, { ...REFINED, eventId: 'e4', callId: 'main.Plain', activity: 3 }, 'A plain draft');
  run.announce();
  await settled();
  expect(liveIn(items)).toEqual([
    ['main.Other', 'beside'],
    ['main.Plain', 'A plain draft'],
  ]);
  run.record('e4', [{ type: 'message', role: 'assistant', content: 'A plain draft' }], {
    step: { at: 'main.Plain', kind: 'ask', type: 'attempt', attempt: 1 },
  });
  note(run, 'e5', { at: 'main.Plain', kind: 'ask', type: 'end', status: 'completed' });
  note(run, 'e6', { ...DRAFT, type: 'end', status: 'completed', reason: 'taken from "Plain"' });
  run.announce();
  await settled();
  expect(liveIn(items)).toEqual([['main.Other', 'beside']]);
  await finish(run, reading);
  const reset = { type: 'reset', step: 1, attempt: 2, callId: 'main.Draft' };
  expect(resetsAndEvents(items)).toEqual(['e1', reset, 'e2', 'e3', 'e4', 'e5', 'e6']);
});

it('discards the output of a failed attempt at the end of a step that records no attempt', async () => {
  const run = new FakeRun();
  const { items, reading } = collect(run);
  await settled();
  note(run, 'e1', { ...DRAFT, type: 'start' });
  begin(run, REFINED, 'half an ans');
  run.announce();
  await settled();
  note(run, 'e2', { ...DRAFT, type: 'end', status: 'skipped' });
  run.announce();
  await settled();
  expect(liveIn(items)).toEqual([]);
  await finish(run, reading);
  expect(resetsAndEvents(items)).toEqual(['e1', { type: 'reset', step: 1, attempt: 2, callId: 'main.Draft' }, 'e2']);
});

it('begins a retry with a reset that names the step and the attempt, and the call if it belongs to a tool or a step', async () => {
  const run = new FakeRun();
  const { items, reading } = collect(run);
  await settled();
  // The first step of the agent is recorded: the second one is retried.
  run.record('r1', [{ type: 'tool_call', toolCallId: 'look-1', name: 'look', arguments: {} }], { usage: null });
  run.record('r2', [{ type: 'tool_result', toolCallId: 'look-1', name: 'look', status: 'success', content: ['looked'] }]);
  run.announce();
  await settled();
  const calls: Partial<StreamedAttempt>[] = [
    { through: 2, activity: 3 },
    { through: 2, activity: 4, callId: 'look-2' },
    { activity: 5, callId: 'main.Draft' },
  ];
  for (const call of calls) {
    for (const attempt of [1, 2, 3]) {
      const { callId: _, ...model } = REFINED;
      const of = { ...model, ...call, eventId: `a-${call.activity}-${attempt}`, attempt };
      // An attempt of a tool is not announced: it begins with its first output.
      if (call.callId === 'look-2') emit(run, of, `${attempt}`);
      else begin(run, of, `${attempt}`);
      await settled();
      // Only the output of the previous attempt is discarded.
      expect(liveIn(items).at(-1)).toEqual([call.callId, `${attempt}`]);
    }
  }
  const seen = items.flatMap((item) =>
    item.type === 'reset' || item.type === 'delta' ? [[item.type, item.step, item.attempt, item.callId]] : [],
  );
  expect(seen).toEqual(
    calls.flatMap(({ callId }) => [
      ['delta', 2, 1, callId],
      ['reset', 2, 2, callId],
      ['delta', 2, 2, callId],
      ['reset', 2, 3, callId],
      ['delta', 2, 3, callId],
    ]),
  );
  await finish(run, reading);
});
