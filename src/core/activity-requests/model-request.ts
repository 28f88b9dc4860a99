import { ActivityCancellationType, type ActivityOptions } from '@temporalio/common';
import { modelFailure, modelOutcome, summaryFailure, summaryOutcome } from './activity-outcome.ts';
import { type ActivityTiming, type AgentSnapshot, DEFAULT_PATIENCE_MS } from '../domain/agent/agent-snapshot.ts';
import { MODEL_CALL_EVENTS } from '../domain/hooks/hook-event.ts';
import { hooksFor, hooksMs, inlineHooks } from '../domain/hooks/hook-snapshot.ts';
import { MISSED_HEARTBEATS } from '../domain/agent/tool-policy.ts';
import type { ModelCall, ModelCallOutcome, SummaryOutcome, SummaryRequest } from '../loop/ports.ts';
import { ACTIVITIES, type CallModelInput, type CallModelOutput, type SummariseInput, type SummariseOutput } from '../protocol.ts';
import { type ActivityRequest, LOST_DELAY, type RequestingRun, runReference, SCHEDULE_TO_CLOSE } from './activity-request.ts';
import { modelSummary, compactionSummary } from './activity-summaries.ts';

/** Returns a model call as an activity. */
export function modelRequest(run: RequestingRun, call: ModelCall): ActivityRequest<CallModelInput, CallModelOutput, ModelCallOutcome> {
  const { snapshot } = run;
  return {
    name: ACTIVITIES.callModel,
    tier: 'remote',
    options: modelOptions(snapshot, modelSummary(call, snapshot.model), hooksMs(inlineHooks(snapshot, ...MODEL_CALL_EVENTS))),
    input: {
      ...runReference(run),
      agent: snapshot.digest,
      through: call.through,
      lastEventId: call.lastEventId,
      ...(call.resultIds === undefined ? {} : { results: call.resultIds }),
      ...(call.earlierIds === undefined ? {} : { earlierIds: call.earlierIds }),
      ...(call.skippedEvents === undefined ? {} : { skipped: call.skippedEvents }),
      ...(call.news === undefined ? {} : { news: call.news }),
      ...(call.firstStep ? { firstStep: true } : {}),
      ...(call.final ? { final: true } : {}),
      ...recallInput(run, call),
      ...(hooksFor(snapshot, 'pre_request').length > 0 ? { step: call.step } : {}),
    },
    returned: modelOutcome,
    failed: (error) => modelFailure(snapshot.model, error),
  };
}

/** The memory belongs to whom the run acts for: the activity asks the run, which does not name them again. */
function recallInput({ state }: RequestingRun, { recall }: ModelCall): Pick<CallModelInput, 'recall' | 'principal'> {
  if (!recall) return {};
  return { recall, ...(state?.principal === undefined ? {} : { principal: true }) };
}

/** Returns the model call that summarises the older part of the window. */
export function summaryRequest(
  run: RequestingRun,
  { events, ...range }: SummaryRequest,
): ActivityRequest<SummariseInput, SummariseOutput, SummaryOutcome> {
  const { snapshot } = run;
  const model = snapshot.window?.summaryModel ?? snapshot.model;
  const isTitle = range.purpose === 'title';
  return {
    name: ACTIVITIES.summarise,
    tier: 'remote',
    options: isTitle
      ? titleOptions(snapshot, `a title, by ${model}`)
      : modelOptions(snapshot, compactionSummary(events, model), hooksMs(hooksFor(snapshot, 'pre_compact'))),
    ...(isTitle ? { isOptional: true } : {}),
    input: { ...runReference(run), agent: snapshot.digest, ...range },
    returned: summaryOutcome,
    failed: (error) => summaryFailure(model, error),
  };
}

/** The longest time of one attempt at a title, and of all of them: a session shows without one. */
const TITLE_MS = { attempt: 30_000, all: 60_000 };

/** Returns the options of the activity that makes a title. It is not waited for once it is given up. */
function titleOptions(snapshot: AgentSnapshot, summary: string): ActivityOptions {
  return {
    ...modelOptions(snapshot, summary),
    startToCloseTimeout: Math.min(snapshot.timing.modelTimeoutMs, TITLE_MS.attempt),
    scheduleToCloseTimeout: TITLE_MS.all,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 2, initialInterval: '1s' },
  };
}

/** Returns the options of an activity that calls a model. `besideMs`: the time that it may take beside the call. */
export function modelOptions({ timing }: AgentSnapshot, summary: string, besideMs = 0): ActivityOptions {
  return {
    summary,
    // An answer that has been paid for must not be lost to slow hooks.
    startToCloseTimeout: timing.modelTimeoutMs + besideMs,
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: timing.heartbeatMs * MISSED_HEARTBEATS,
    // A cancelled activity returns the part of the answer that had arrived, so the run waits for it.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { maximumAttempts: mostAttempts(timing), ...LOST_DELAY },
  };
}

/** The waits of a refused call grow: more attempts than these do not fit into the patience. */
const MOST_REFUSALS = { first: 100, everyMs: 5_000 };

/**
 * Returns the last bound of the attempts of a model call. The activity counts them itself, because those that the provider refuses are
 * bounded by time. It counts by its heartbeats, which may be lost.
 */
function mostAttempts({ modelMaxAttempts, modelPatienceMs = DEFAULT_PATIENCE_MS }: ActivityTiming): number {
  return modelPatienceMs === 0
    ? modelMaxAttempts
    : modelMaxAttempts + MOST_REFUSALS.first + Math.ceil(modelPatienceMs / MOST_REFUSALS.everyMs);
}
