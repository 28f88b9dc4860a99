import { afterAll, describe, expect, test, vi } from 'vitest';
import { installSilentRuntime } from '../../src/cli/commands/replay.ts';
import { matrixSample } from '../matrix-sample.ts';
import { recordedHistories } from './histories.ts';
import { LOOP_CHANGES, THROWING_CHANGE, WORDING_CHANGE } from './loop-mutations.ts';
import { removeMutated, replayMutated, verdictOn } from './replay-mutated.ts';

// Building a bundle takes a while on a busy machine.
vi.setConfig({ testTimeout: 60_000 });
await installSilentRuntime();
afterAll(removeMutated);

/** Histories that such a change must leave alone: all, or the turn of a commit. */
const histories = matrixSample(recordedHistories()).map(({ name }) => name);

describe('a change of the loop without a patch is detected where the run would be stuck', () => {
  test.each(matrixSample(LOOP_CHANGES))(
    'a loop that $what',
    async ({ history, caught, ...mutation }) => {
      const verdicts = await replayMutated(mutation, [history]);
      expect(verdicts[history]).toMatchObject(verdictOn({ caught }));
    },
    60_000,
  );
});

test('a change that throws outside of any call is detected with its message', async () => {
  const verdicts = await replayMutated(THROWING_CHANGE, ['failed-with-an-unknown-agent', 'completed-with-parallel-tools']);
  expect(verdicts['failed-with-an-unknown-agent']).toEqual({ type: 'ok' });
  expect(verdicts['completed-with-parallel-tools']).toEqual({ type: 'failed', message: 'a defect', step: 2 });
});

test('a change of the text that a model reads leaves the commands unchanged, and breaks no run', async () => {
  const verdicts = await replayMutated(WORDING_CHANGE, histories);
  expect(verdicts).toEqual(Object.fromEntries(histories.map((name) => [name, { type: 'ok' }])));
}, 120_000);
