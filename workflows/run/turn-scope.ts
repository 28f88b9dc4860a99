import { CancellationScope, proxySinks } from '@temporalio/workflow';
import type { Beside } from '../../src/core/sessions/session-ports.ts';
import type { LonghaulSinks } from '../interceptors/worker-sinks.ts';
import type { LiveRun } from './live-run.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/** Runs a turn of a session in a cancellation scope of its own: an interrupt cancels what it waits for, and the session goes on. */
export async function inTurn<Result>(run: LiveRun, turn: () => Promise<Result>): Promise<Result> {
  const scope = new CancellationScope({ cancellable: true });
  run.turnScope = scope;
  // The execution before was interrupted in the middle of the turn.
  if (run.inbox.turnInterrupt !== undefined) scope.cancel();
  try {
    return await scope.run(turn);
  } finally {
    delete run.turnScope;
    // Model calls of the next turn need a scope that is not cancelled.
    delete run.modelScope;
  }
}

/** Begins work beside the wait of a session, in a cancellation scope of its own: what it waits for is cancelled once it is given up. */
export function beside<Outcome>(work: () => Promise<Outcome>): Beside<Outcome> {
  const scope = new CancellationScope({ cancellable: true });
  let outcome: Outcome | undefined;
  scope.run(work).then(
    (ended) => (outcome = ended),
    () => undefined,
  );
  return {
    get outcome() {
      return outcome;
    },
    giveUp() {
      if (outcome !== undefined) return;
      longhaul.cancelRequested();
      scope.cancel();
    },
  };
}

/** Cancels the current turn, if a caller has interrupted it. */
export function interruptTurn(run: LiveRun): void {
  if (run.inbox.turnInterrupt === undefined || run.turnScope === undefined || run.turnScope.consideredCancelled) return;
  longhaul.cancelRequested();
  run.turnScope.cancel();
}
