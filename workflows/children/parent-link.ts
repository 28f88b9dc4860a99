import { CancellationScope, condition, sleep } from '@temporalio/workflow';
import { checkParentRequest } from '../../src/core/activity-requests/child-requests.ts';
import type { ParentRun } from '../../src/core/domain/run-input.ts';
import { isTerminal } from '../../src/core/domain/run.ts';
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

/** Waits until the server has delivered what the parent is being told: it drops a signal of an execution that closes before. */
export async function finishTelling(run: LiveRun): Promise<void> {
  if (run.telling === 0) return;
  await CancellationScope.nonCancellable(() => condition(() => run.telling === 0));
}

/**
 * Checks from time to time that the parent is alive, and cancels the run once it is not: a parent that was terminated
 * cancels nothing. Does nothing for a run without a parent.
 */
export function watchParent(run: LiveRun, parent: ParentRun | undefined): void {
  if (parent === undefined) return;
  const watching = parent.kept ? checkDuringTurns(run, parent) : checkUntilEnded(run, parent);
  watching.catch(() => undefined);
}

async function checkUntilEnded(run: LiveRun, parent: ParentRun): Promise<void> {
  for (let checkAt = parent.checkAt ?? 0; ; checkAt = Date.now() + parent.checkMs) {
    noteNextCheck(run, checkAt);
    await sleep(Math.max(1, checkAt - Date.now()), { summary: NEXT_CHECK });
    if (await hasParentEnded(run, parent)) return cancelOrphan(run, parent);
  }
}

/** Checks the parent of a session that it keeps, while a turn goes on: no timer wakes an idle session. A check that is due by then comes at the beginning of the turn. */
async function checkDuringTurns(run: LiveRun, parent: ParentRun): Promise<void> {
  const isIdle = (): boolean => run.state !== undefined && run.state.session?.turn === undefined;
  let checkAt = parent.checkAt ?? 0;
  for (;;) {
    await condition(() => !isIdle());
    const waitMs = checkAt - Date.now();
    if (waitMs > 0 && (await condition(isIdle, waitMs, { summary: NEXT_CHECK }))) continue;
    if (await hasParentEnded(run, parent)) return cancelOrphan(run, parent);
    checkAt = Date.now() + parent.checkMs;
    noteNextCheck(run, checkAt);
  }
}

const NEXT_CHECK = 'next check that the parent is alive';

/** Notes when the next execution checks the parent. */
function noteNextCheck({ state }: LiveRun, checkAt: number): void {
  if (state?.parent !== undefined) state.parent.checkAt = checkAt;
}

function hasParentEnded(run: LiveRun, parent: ParentRun): Promise<boolean> {
  return performActivity(run, checkParentRequest(parent), { start: startActivity, ended: () => undefined });
}

function cancelOrphan({ inbox }: LiveRun, { runId }: ParentRun): void {
  inbox.cancelReason ??= `The run "${runId}", which started this one, has ended`;
  inbox.cancelAsked = true;
}
