import { afterAll, describe, expect, test, vi } from 'vitest';
import { installSilentRuntime } from '../../src/cli/commands/replay.ts';
import { matrixSample } from '../matrix-sample.ts';
import { recordedHistories } from './histories.ts';
import { ATTEMPT_CHANGES, EXECUTION_CHANGES, ORDER_CHANGES } from './program-mutations.ts';
import { removeMutated, replayMutated, verdictOn } from './replay-mutated.ts';

// Building a bundle takes a while on a busy machine.
vi.setConfig({ testTimeout: 60_000 });
await installSilentRuntime();
afterAll(removeMutated);

/** Histories that such a change must leave alone: all, or the turn of a commit. */
const histories = matrixSample(recordedHistories()).map(({ name }) => name);

describe('a change of the interpreter without a patch is detected where the run would be stuck', () => {
  test.each(matrixSample([...ORDER_CHANGES, ...ATTEMPT_CHANGES, ...EXECUTION_CHANGES]))(
    'an interpreter that $what',
    async ({ what: _, history, caught, ...mutation }) => {
      const verdicts = await replayMutated(mutation, [history]);
      expect(verdicts[history]).toMatchObject(verdictOn({ caught }));
    },
  );
});

test('a copy of the workflows without a change breaks no run', async () => {
  const verdicts = await replayMutated(undefined, histories);
  expect(verdicts).toEqual(Object.fromEntries(histories.map((name) => [name, { type: 'ok' }])));
}, 120_000);
