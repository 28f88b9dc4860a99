import { CancellationScope, condition, proxySinks, uuid4 } from '@temporalio/workflow';
import { afterAttempts } from '../../src/core/activity-requests/activity-request.ts';
import { callInTime, toolRequest } from '../../src/core/activity-requests/activity-ports.ts';
import { burstRequest, checkpointRequest } from '../../src/core/activity-requests/burst-requests.ts';
import { makesBursts, withCheckpoint } from '../../src/core/bursts/burst.ts';
import type { Bursts, EndedBurst } from '../../src/core/bursts/burst-ports.ts';
import { defined } from '../../src/core/domain/json.ts';
import type { ModelCall } from '../../src/core/kernel/ports.ts';
import { burstKey } from '../../src/core/protocol.ts';
import { newEvents } from '../../src/core/queries/queries.ts';
import { scheduleInTime, watchDeadline, withinDeadline } from './deadline.ts';
import type { LiveRun, LonghaulSinks, ResolvedRun } from './live-run.ts';
import { interruptibleModelCall, scheduleActivity, startActivity } from './schedule-activity.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/** The digest of the loop's code, which the bundler inserts. */
declare const LONGHAUL_LOOP: string | undefined;

/** Returns how a run makes bursts on Temporal: each is an activity. */
export function workflowBursts(run: ResolvedRun, cancelRequested: () => boolean): Bursts {
  return {
    state: () => run.state,
    make: (call) => (makesBursts(run.snapshot) ? makeBurst(run, call) : undefined),
    continueModelCall: (call, begun) => withinDeadline(run, () => interruptibleModelCall(run, call, cancelRequested, begun)),
    continueTool: (invocation, begun) =>
      scheduleInTime(run, afterAttempts(callInTime(toolRequest(run, invocation), cancelRequested), begun, Date.now())),
    settled,
    growth: () => run.snapshot.burst?.bytes ?? 0,
  };
}

/** Resolves once all workflow code that can run now has run. */
async function settled(): Promise<void> {
  let isDue = false;
  const due = CancellationScope.nonCancellable(() => condition(() => isDue));
  isDue = true;
  await due;
}

/** Makes a burst. Undefined if it failed: the run then makes the call itself. */
function makeBurst(run: ResolvedRun, call: ModelCall): Promise<EndedBurst | undefined> | undefined {
  const { state } = run;
  if (state === undefined) return undefined;
  const { outer, scope } = scopeOf(run);
  // The call ends at once, as without bursts: nothing would cancel a burst that began now.
  if (outer.consideredCancelled) return undefined;
  watchDeadline(run);
  const [seed, begunAt] = [uuid4(), Date.now()];
  const burst: NonNullable<LiveRun['burst']> = {
    scope,
    seed,
    begunAt,
    get isCancelled() {
      return outer.consideredCancelled;
    },
    giveUp: () => abortBurst(run),
  };
  run.burst = burst;
  const news = newEvents(state, call);
  if (news !== undefined) longhaul.conversationGrew(run.key ?? '', news);
  const loop = typeof LONGHAUL_LOOP === 'string' ? LONGHAUL_LOOP : '';
  const request = burstRequest({ ...run, state }, { ...call, ...defined({ news: news?.digest }) }, { seed, now: begunAt, loop });
  run.lastBurst = { step: call.step, counted: state.toolCallsByName, calls: new Map(state.toolCallsByName) };
  return scheduleActivity(run, request, (started) => scope.run(() => startActivity(started))).then((record) => {
    delete run.burst;
    const known = withCheckpoint(record, burst.stored);
    return known && { record: known, seed, begunAt };
  });
}

/**
 * Returns the scope for bursts, which is reused until one is cancelled, and the cancellation scope of the run or its turn. The
 * cancellation of the run does not reach a burst directly: the stored part of the burst is looked up first.
 */
function scopeOf(run: LiveRun): NonNullable<LiveRun['burstScope']> {
  const outer = CancellationScope.current();
  const known = run.burstScope;
  if (known?.outer === outer && !known.scope.consideredCancelled) return known;
  if (known?.outer !== outer) void outer.cancelRequested.catch(() => cancelBurst(run));
  const scope = new CancellationScope({ cancellable: true, parent: new CancellationScope({ cancellable: false }) });
  return (run.burstScope = { outer, scope });
}

/** Ends the burst in progress for a request that the run has to read: after the call in flight, or at once if the request says so. */
export function endBurst(run: LiveRun): void {
  if (run.burst === undefined) return;
  if (run.inbox.isInterrupted) return abortBurst(run);
  longhaul.interruptRequested(burstKey(run.key));
  cancelBurst(run);
}

/** Ends the burst in progress with the call in flight. */
function abortBurst(run: LiveRun): void {
  longhaul.interruptRequested(run.key ?? '');
  longhaul.interruptRequested(burstKey(run.key));
  cancelBurst(run);
}

/**
 * Cancels the activity of a burst, after looking up what the server has stored of it. If no worker makes an attempt now, the server
 * ends the activity at once, and drops that.
 */
function cancelBurst(run: LiveRun): void {
  const { burst } = run;
  if (burst === undefined || burst.isEnding) return;
  burst.isEnding = true;
  void cancelAfterLookUp(run, burst);
}

async function cancelAfterLookUp(run: LiveRun, burst: NonNullable<LiveRun['burst']>): Promise<void> {
  const stored = await CancellationScope.nonCancellable(() => scheduleActivity(run, checkpointRequest(run, burst.seed)));
  if (stored !== undefined) burst.stored = stored;
  if (run.burst === burst) burst.scope.cancel();
}
