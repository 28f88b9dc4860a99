import { CancellationScope, condition, proxySinks, uuid4 } from '@temporalio/workflow';
import { afterAttempts } from '../../src/core/activity-requests/activity-request.ts';
import { toolRequest } from '../../src/core/activity-requests/activity-ports.ts';
import { burstRequest } from '../../src/core/activity-requests/burst-requests.ts';
import { makesBursts } from '../../src/core/bursts/burst.ts';
import type { Bursts } from '../../src/core/bursts/burst-ports.ts';
import type { EndedBurst } from '../../src/core/bursts/recorded-burst.ts';
import { defined } from '../../src/core/domain/defined.ts';
import type { ModelCall } from '../../src/core/kernel/ports.ts';
import { burstKey } from '../../src/core/protocol.ts';
import { newEvents } from '../../src/core/queries/queries.ts';
import type { LiveRun, LonghaulSinks, ResolvedRun } from './live-run.ts';
import { interruptibleModelCall, scheduleActivity, startActivity } from './schedule-activity.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/** The digest of the code of the loop, which the bundler puts here. */
declare const LONGHAUL_LOOP: string | undefined;

/** Returns how a run makes bursts on Temporal: each is an activity. */
export function workflowBursts(run: ResolvedRun, cancelRequested: () => boolean): Bursts {
  return {
    state: () => run.state,
    make: (call) => (makesBursts(run.snapshot) ? makeBurst(run, call) : undefined),
    continueModelCall: (call, begun) => interruptibleModelCall(run, call, cancelRequested, begun),
    continueTool: (invocation, begun) => scheduleActivity(run, afterAttempts(toolRequest(run, invocation), begun, Date.now())),
    settled,
    growth: () => run.snapshot.burst?.bytes ?? 0,
  };
}

/** Resolves after all code of the workflow that can run now. */
async function settled(): Promise<void> {
  let isDue = false;
  const due = CancellationScope.nonCancellable(() => condition(() => isDue));
  isDue = true;
  await due;
}

/** Makes a burst. Undefined if it has come to nothing: the run makes the call itself. */
function makeBurst(run: ResolvedRun, call: ModelCall): Promise<EndedBurst | undefined> | undefined {
  const { state } = run;
  if (state === undefined) return undefined;
  const outer = CancellationScope.current();
  const scope = new CancellationScope({ cancellable: true });
  const [seed, begunAt] = [uuid4(), Date.now()];
  run.burst = {
    scope,
    begunAt,
    get isCancelled() {
      return outer.consideredCancelled;
    },
  };
  const news = newEvents(state, call);
  if (news !== undefined) longhaul.conversationGrew(run.key ?? '', news);
  const loop = typeof LONGHAUL_LOOP === 'string' ? LONGHAUL_LOOP : '';
  const request = burstRequest({ ...run, state }, { ...call, ...defined({ news: news?.digest }) }, { seed, now: begunAt, loop });
  return scheduleActivity(run, request, (started) => scope.run(() => startActivity(started))).then((record) => {
    delete run.burst;
    return record && { record, seed, begunAt };
  });
}

/** Ends the burst in progress, because a request has come that the run has to read: after the call in flight, or at once if the request says so. */
export function endBurst(run: LiveRun): void {
  if (run.burst === undefined) return;
  if (run.inbox.isInterrupted) longhaul.interruptRequested(run.key ?? '');
  longhaul.interruptRequested(burstKey(run.key));
  run.burst.scope.cancel();
}
