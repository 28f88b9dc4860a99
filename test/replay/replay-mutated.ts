import { expect } from 'vitest';
import { Replayer, type ReplayVerdict } from '../../worker/index.ts';
import { recordedHistories } from './histories.ts';
import { bundleMutated } from './mutated-bundle.ts';
import type { BrokenChange, Mutation } from './mutation.ts';

/** Returns the verdict on a history that a change breaks. */
export function verdictOn({ caught }: Pick<BrokenChange, 'caught'>): object {
  if (typeof caught === 'string') return { type: 'diverged', message: expect.stringMatching(`^${caught}`) as string, divergence: null };
  return { type: 'diverged', divergence: { ...caught, eventId: expect.any(Number) as number } };
}

/** Replays the histories of these names with changed code, or with a copy of the present code. */
export async function replayMutated(mutation: Mutation | undefined, names: readonly string[]): Promise<Record<string, ReplayVerdict>> {
  const workflowBundle = await bundleMutated(mutation, ['workflows/interceptors/command-recorder.ts']);
  const replayer = new Replayer({ worker: { workflowBundle } });
  const verdicts: Record<string, ReplayVerdict> = {};
  try {
    for (const { name, runId, history } of recordedHistories()) {
      if (names.includes(name)) verdicts[name] = await replayer.replay(runId, history);
    }
  } finally {
    await replayer.close();
  }
  return verdicts;
}
