import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import { CancellationScope, proxySinks } from '@temporalio/workflow';
import { modelFailure, modelOutcome, summaryFailure, summaryOutcome } from '../src/activity-outcome.ts';
import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import type { ModelCall, ModelCallOutcome, SummaryOutcome, SummaryRequest } from '../src/loop/ports.ts';
import { ACTIVITIES, type CallModelInput, type CallModelOutput, type SummariseInput, type SummariseOutput } from '../src/protocol.ts';
import { activity, MISSED_HEARTBEATS, ofRun, outcomeOf, SCHEDULE_TO_CLOSE } from './activity-call.ts';
import { modelSummary, summaryOfSummary } from './summaries.ts';
import type { LonghaulSinks } from './cancel-sink.ts';
import type { LiveRun, ResolvedRun } from './live-run.ts';

const { longhaul } = proxySinks<LonghaulSinks>();

/** One model call as an activity. */
export function callModel(run: ResolvedRun, call: ModelCall): Promise<ModelCallOutcome> {
  const { snapshot } = run;
  const input: CallModelInput = {
    ...ofRun(run),
    agent: snapshot.digest,
    through: call.through,
    lastEventId: call.lastEventId,
    ...(call.resultIds === undefined ? {} : { results: call.resultIds }),
    ...(call.earlierIds === undefined ? {} : { earlierIds: call.earlierIds }),
    ...(call.final ? { final: true } : {}),
  };
  const options = modelOptions(snapshot, modelSummary(call, snapshot.model));
  const scope = new CancellationScope({ cancellable: true });
  const work = scope.run(() => activity<CallModelInput, CallModelOutput>(ACTIVITIES.callModel, options)(input));
  run.modelCall = scope;
  return outcomeOf<CallModelOutput, ModelCallOutcome>(
    { run, work },
    {
      returned: (output) => interruptible(run, modelOutcome(output)),
      failed: (error) => interruptible(run, modelFailure(snapshot.model, error)),
    },
  );
}

/** Gives up the model call in flight, for a message that is to be read at once. The run goes on. */
export function interruptModelCall(run: LiveRun): void {
  if (run.modelCall === undefined || !run.inbox.isInterrupted) return;
  longhaul.interruptRequested(run.key ?? '');
  run.modelCall.cancel();
}

/** What ends a call that was given up while the run goes on is not a cancellation of the run. */
function interruptible(run: LiveRun, outcome: ModelCallOutcome): ModelCallOutcome {
  delete run.modelCall;
  if (outcome.type !== 'cancelled' || CancellationScope.current().consideredCancelled) return outcome;
  return { ...outcome, type: 'interrupted' };
}

/** A model call that summarises the older part of the window. */
export function summarise(run: ResolvedRun, { events, ...range }: SummaryRequest): Promise<SummaryOutcome> {
  const { snapshot } = run;
  const input: SummariseInput = { ...ofRun(run), agent: snapshot.digest, ...range };
  const model = snapshot.window?.summaryModel ?? snapshot.model;
  const options = modelOptions(snapshot, summaryOfSummary(events, model));
  const work = activity<SummariseInput, SummariseOutput>(ACTIVITIES.summarise, options)(input);
  return outcomeOf<SummariseOutput, SummaryOutcome>(
    { run, work },
    { returned: summaryOutcome, failed: (error) => summaryFailure(model, error) },
  );
}

function modelOptions({ timing }: AgentSnapshot, summary: string): ActivityOptions {
  return {
    summary,
    startToCloseTimeout: timing.modelTimeoutMs,
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: timing.heartbeatMs * MISSED_HEARTBEATS,
    // The activity answers a cancellation with what had arrived so far, so it is worth the wait.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: timing.modelMaxAttempts, initialInterval: '1s', backoffCoefficient: 2, maximumInterval: '1 minute' },
  };
}
