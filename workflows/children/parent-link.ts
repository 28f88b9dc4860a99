import { CancellationScope, condition, patched, sleep } from '@temporalio/workflow';
import { checkParentRequest } from '../../src/core/activity-requests/child-requests.ts';
import type { ParentRun } from '../../src/core/domain/run/parent-run.ts';
import { isTerminal } from '../../src/core/domain/run/status.ts';
import { type ChildEndedInput, type ChildWaitingInput, SIGNALS } from '../../src/core/protocol.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import type { LiveRun } from '../run/live-run.ts';
import { performActivity, startActivity } from '../run/schedule-activity.ts';
import { signalRun } from './other-runs.ts';

/** Tells the run that has asked for it that this one has ended. Must be the last act before the close: no signal may come between. */
export async function reportEnd(run: LiveRun): Promise<void> {
  const { runId, inbox } = run;
  const { reportTo } = inbox;
  if (reportTo === undefined) return;
  await CancellationScope.nonCancellable(() => signalRun<ChildEndedInput>(reportTo, SIGNALS.childEnded, { runId }));
}

/** Tells the run that keeps a session of the end of a turn, and waits until the server has delivered it. */
export async function reportTurn({ runId }: LiveRun, to: string, turn: number): Promise<void> {
  await CancellationScope.nonCancellable(() => signalRun<ChildEndedInput>(to, SIGNALS.childEnded, { runId, turn }));
}

/**
 * Returns a function that tells the parent when the run begins to wait for a person, and when it no longer does. The
 * execution before has told what was carried.
 */
export function tellsWaiting(run: LiveRun): (state: RunState) => void {
  const { runId, inbox, state: carried } = run;
  const isWaiting = ({ approvals }: RunState): boolean => approvals.pending.length > 0 || inbox.hasWaitingChild;
  let told = carried !== undefined && isWaiting(carried);
  return (state) => {
    const { parent } = state;
    const waiting = !isTerminal(state.status) && isWaiting(state);
    if (parent === undefined || waiting === told) return;
    told = waiting;
    run.telling += 1;
    void CancellationScope.nonCancellable(async () => {
      await signalRun<ChildWaitingInput>(parent.runId, SIGNALS.childWaiting, { runId, waiting });
      run.telling -= 1;
    });
  };
}

/**
 * Waits until the server has delivered what the parent is being told: it drops a signal of an execution that closes before. Runs
 * whose execution closed without this wait are replayed without it.
 */
export async function finishTelling(run: LiveRun): Promise<void> {
  if (run.telling === 0 || !patched('told-before-continuing')) return;
  await CancellationScope.nonCancellable(() => condition(() => run.telling === 0));
}

/**
 * Checks from time to time that the parent is alive, and cancels the run once it is not: a parent that was terminated
 * cancels nothing. Does nothing for a run without a parent.
 */
export function watchParent(run: LiveRun, parent: ParentRun | undefined): void {
  if (parent !== undefined) checkUntilEnded(run, parent).catch(() => undefined);
}

async function checkUntilEnded(run: LiveRun, parent: ParentRun): Promise<void> {
  for (let checkAt = parent.checkAt ?? 0; ; checkAt = Date.now() + parent.checkMs) {
    if (run.state?.parent !== undefined) run.state.parent.checkAt = checkAt;
    await sleep(Math.max(1, checkAt - Date.now()), { summary: 'next check that the parent is alive' });
    const ended = await performActivity(run, checkParentRequest(parent), { start: startActivity, ended: () => undefined });
    if (!ended) continue;
    run.inbox.cancelReason ??= `The run "${parent.runId}", which started this one, has ended`;
    run.inbox.cancelAsked = true;
    return;
  }
}
