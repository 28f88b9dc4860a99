import { expect, it } from 'vitest';
import type { StepNote } from '../../../src/core/domain/program/step-note.ts';
import type { StreamedAttempt } from '../../../src/core/domain/stream/stream-entry.ts';
import { fold, newView } from '../../../src/client/stream/fold.ts';
import { FakeRun } from './fake-run.ts';
import { feedsOf, type StreamItem } from './read-stream.ts';

const DRAFT = { at: 'main.Draft', kind: 'ask' };

/** A program whose step gives up after an attempt that failed in the middle of its answer: no event has the id of that answer. */
function givenUp(): FakeRun {
  const run = new FakeRun();
  const of: StreamedAttempt = { executionId: run.executionId, eventId: 'never', callId: DRAFT.at, activity: 1, attempt: 1 };
  const note = (id: string, step: StepNote): void => run.record(id, [], { step });
  note('e1', { ...DRAFT, type: 'start' });
  run.publish({ type: 'attempt', of });
  run.publish({ type: 'delta', of, index: 0, delta: { type: 'text', text: 'half an ans' } });
  note('e2', { ...DRAFT, type: 'attempt', attempt: 1, error: { code: 'model_call_failed', message: 'broken off' } as never });
  note('e3', { ...DRAFT, type: 'end', status: 'skipped' });
  run.announce();
  return run;
}

it('shows no output of a failed attempt to a reader that comes once the step has ended', async () => {
  const run = givenUp();
  const items: StreamItem[] = [];
  const reading = (async () => {
    for await (const item of feedsOf(run).stream()) items.push(item);
  })();
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(items.reduce(fold, newView())).toMatchObject({ events: run.events, live: [] });
  run.end();
  run.announce();
  await reading;
  expect(items.filter(({ type }) => type === 'delta')).toEqual([]);
});
