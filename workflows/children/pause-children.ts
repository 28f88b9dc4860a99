import { CancellationScope, condition } from '@temporalio/workflow';
import { childrenOf, mayHaveChildren } from '../../src/core/loop/children/children-of.ts';
import { type PausedAboveInput, SIGNALS } from '../../src/core/protocol.ts';
import type { LiveRun } from '../run/live-run.ts';
import { signalRun } from './other-runs.ts';

/**
 * Pauses the children with the run, and lets them go on with it: one signal to each child for each change. A child that has
 * ended needs none. The next execution tells the children again if this one ends before all of them were told.
 */
export function pauseChildren(run: LiveRun): void {
  void CancellationScope.nonCancellable(() => tellChanges(run));
}

async function tellChanges(run: LiveRun): Promise<void> {
  const { inbox } = run;
  for (;;) {
    const isChanged = (): boolean => inbox.paused !== inbox.childrenPaused || run.startedPaused !== undefined;
    await condition(() => isChanged() && run.state !== undefined && mayHaveChildren(run.state));
    const { paused } = inbox;
    const told = paused === inbox.childrenPaused ? (run.startedPaused ?? []) : childrenOf(run.state);
    delete run.startedPaused;
    await Promise.all(told.map((runId) => signalRun<PausedAboveInput>(runId, SIGNALS.pausedAbove, { paused })));
    inbox.childrenPaused = paused;
  }
}

/** Notes that a child has started: it may have missed that the run is paused. */
export function noteStarted(run: LiveRun, runId: string): void {
  if (run.inbox.paused) run.startedPaused = [...(run.startedPaused ?? []), runId];
}
