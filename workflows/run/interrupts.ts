import { CancellationScope, proxySinks } from '@temporalio/workflow';
import { interruptibleRequest, modelRequest } from '../../src/core/activity-requests/agent-requests.ts';
import { defined } from '../../src/core/domain/defined.ts';
import type { ModelCall, ModelCallOutcome } from '../../src/core/kernel/ports.ts';
import type { CallModelOutput } from '../../src/core/protocol.ts';
import { newEvents } from '../../src/core/queries/queries.ts';
import type { BackgroundWork } from '../../src/core/sessions/run-session.ts';
import type { LiveRun, LonghaulSinks, ResolvedRun } from './live-run.ts';
import { scheduleActivity, startActivity } from './schedule-activity.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/** Makes one model call in its own cancellation scope: a message may interrupt it while the run continues. */
export function interruptibleModelCall(run: ResolvedRun, call: ModelCall, cancelRequested: () => boolean): Promise<ModelCallOutcome> {
  const scope = scopeOf(run);
  run.modelCall = scope;
  const news = newEvents(run.state, call);
  if (news !== undefined) longhaul.conversationGrew(run.key ?? '', news);
  const request = modelRequest(run, { ...call, ...defined({ news: news?.digest }) });
  const { returned, failed, ...activity } = interruptibleRequest(request, cancelRequested);
  const ended = (outcome: ModelCallOutcome): ModelCallOutcome => {
    delete run.modelCall;
    return outcome;
  };
  const noted = {
    ...activity,
    returned: (output: CallModelOutput) => ended(returned(output)),
    failed: (error: unknown) => ended(failed(error)),
  };
  return scheduleActivity(run, noted, (started) => scope.run(() => startActivity(started)));
}

/**
 * Returns the scope for model calls, which is reused until one is interrupted: in the sandbox every promise of a new
 * scope costs a stack trace.
 */
function scopeOf(run: LiveRun): CancellationScope {
  if (run.modelScope === undefined || run.modelScope.consideredCancelled) run.modelScope = new CancellationScope({ cancellable: true });
  return run.modelScope;
}

/** Interrupts the model call in flight, for a message that is to be read at once. The run continues. */
export function interruptModelCall(run: LiveRun): void {
  if (run.inbox.isInterrupted) abortModelCall(run);
}

/** Gives up the model call in flight, if there is one. The run continues. */
export function abortModelCall(run: LiveRun): void {
  if (run.modelCall === undefined) return;
  longhaul.interruptRequested(run.key ?? '');
  run.modelCall.cancel();
}

/** Runs a turn of a session in a separate cancellation scope: an interrupt cancels what it waits for, and the session continues. */
export async function withinTurn<Result>(run: LiveRun, turn: () => Promise<Result>): Promise<Result> {
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

/** Begins work during the wait of a session, in a separate cancellation scope: what it waits for is cancelled once it is given up. */
export function inBackground<Outcome>(work: () => Promise<Outcome>): BackgroundWork<Outcome> {
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
