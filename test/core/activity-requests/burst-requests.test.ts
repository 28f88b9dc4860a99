import { expect, test } from 'vitest';
import { burstRequest } from '../../../src/core/activity-requests/burst-requests.ts';
import { countToolCalls, newRunState } from '../../../src/core/kernel/run-state.ts';
import { newSnapshot } from '../../fakes/snapshot.ts';

const snapshot = { ...newSnapshot(), burst: { steps: 16, bytes: 32_000, seconds: 2 } };
const newRun = () => ({
  runId: 'r',
  snapshot,
  state: newRunState({ runId: 'r', snapshot, input: 'Q', startedAt: 0 }, { now: () => 0, uuid: () => 'first' }),
});
const callAt = (step: number) => ({ step, through: step, lastEventId: 'e', newEvents: 1, final: false });
const begin = { seed: 's', now: 0, loop: 'l' };

test('the summary of a burst says where it begins, and what the run has done since the previous burst', () => {
  const run = newRun();
  const { state } = run;
  expect(burstRequest(run, callAt(1), begin).options.summary).toMatch(/^from step 1 · \S+ · up to 16 steps$/);

  countToolCalls(state, 'look_up', 1);
  const lastBurst = { step: 1, counted: state.toolCallsByName, calls: new Map(state.toolCallsByName) };
  countToolCalls(state, 'read_page', 14);
  expect(burstRequest({ ...run, lastBurst }, callAt(17), begin).options.summary).toMatch(
    /^from step 17 · \S+ · up to 16 steps · before: 16 steps, 14 × read_page$/,
  );
});

test('the summary of the first burst of a turn does not mention the previous turn', () => {
  const run = newRun();
  const lastBurst = { step: 1, counted: new Map([['read_page', 1]]), calls: new Map([['read_page', 1]]) };
  countToolCalls(run.state, 'read_page', 3);
  expect(burstRequest({ ...run, lastBurst }, callAt(3), begin).options.summary).toMatch(/up to 16 steps$/);
});
