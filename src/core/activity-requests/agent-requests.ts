import { ActivityCancellationType, type ActivityOptions, ApplicationFailure, TimeoutFailure } from '@temporalio/common';
import {
  type ActivityTiming,
  type AgentSnapshot,
  DEFAULT_PATIENCE_MS,
  MISSED_HEARTBEATS,
  summaryModelOf,
  withDocument,
} from '../domain/agent.ts';
import type { Resolved } from '../domain/children.ts';
import { defined, isJsonObject } from '../domain/json.ts';
import { hooksFor, hooksMs, inlineHooks, MODEL_CALL_EVENTS } from '../domain/hooks.ts';
import { inheritedRules } from '../domain/parts.ts';
import { overridesIn, type ParentInput, parentOf, type SessionInput } from '../domain/run-input.ts';
import { sessionOf, type SessionOverrides, sessionProblem } from '../domain/sessions.ts';
import { oneLine } from '../domain/text.ts';
import type { ModelCall, ModelCallOutcome } from '../kernel/ports.ts';
import type { SummaryOutcome, SummaryRequest } from '../capabilities/compaction.ts';
import type { HandoffPorts } from '../capabilities/handoffs.ts';
import type { CallModelInput, CallModelOutput, ResolveAgentInput, ResolveAgentOutput, RunInput, SummarizeOutput } from '../protocol.ts';
import type { SessionPorts } from '../sessions/run-session.ts';
import {
  activityCause,
  activityProblem,
  compactionSummary,
  fits,
  HEARTBEAT_TIMEOUT,
  LOST_DELAY,
  modelSummary,
  type PerformActivity,
  type RequestingRun,
  type RequestOf,
  runReference,
  SCHEDULE_TO_CLOSE,
  withoutBatch,
} from './activity-request.ts';
import { type Spent, spentIn } from '../domain/usage.ts';
import { missingIn } from '../domain/missing-definitions.ts';
import { costLimitOf } from '../domain/limits.ts';

/** The ports of agents and their models. */
export function agentPorts(
  run: RequestingRun,
  perform: PerformActivity,
  cancelRequested: () => boolean,
): Pick<SessionPorts & HandoffPorts, 'callModel' | 'summarize' | 'resolveHandoff' | 'switchAgent' | 'refreshAgent'> {
  return {
    callModel: (call) => perform(interruptibleRequest(modelRequest(run, call), cancelRequested)),
    summarize: (request) => perform(summaryRequest(run, request)),
    resolveHandoff: (agent) => perform(handoffRequest(run, agent)),
    switchAgent: (snapshot) => {
      run.snapshot = snapshot;
    },
    refreshAgent: () => perform(refreshRequest(run)),
  };
}

/** Bounded, because resolving an agent is quick, and a worker that does not know the agent must not retry forever. */
export const RESOLVE: ActivityOptions = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: { maximumAttempts: 5, initialInterval: '1s', backoffCoefficient: 2 },
};

/** Asks a worker to resolve the agent for the whole run. */
export function resolveRequest(run: { key?: string }, input: RunInput): RequestOf<'resolveAgent', Resolved> {
  const { agent, document, flow, limits, deps, principal, parent, fromCall, session } = input;
  return {
    name: 'resolveAgent',
    isNoProgress: true,
    tier: 'remote',
    options: { ...RESOLVE, summary: oneLine(agent, 200) },
    input: {
      ...runReference(run),
      agent,
      ...(document === undefined ? {} : { ofDocument: true }),
      ...defined({ flow, limits }),
      ...pricedBy(session),
      ...leftOf(parent),
      ...(parent === undefined || fromCall === undefined ? {} : { ofCall: { ...fromCall, runId: parent.runId } }),
      ...inheritedRules(parent),
      ...defined({ ofTier: parent?.tier }),
      ...(principal === undefined ? {} : { principal: true }),
      ...overridesIn(input),
      ...(deps === undefined ? {} : fits(deps) ? { deps } : { depsByReference: true }),
    },
    returned: (output) => {
      const { snapshot, ...details } = splitResolved(output);
      const problem = session === undefined ? undefined : sessionProblem(snapshot);
      if (problem !== undefined) return { type: 'failed', code: 'invalid_agent', message: problem };
      return { type: 'resolved', snapshot: document === undefined ? snapshot : withDocument(snapshot, document), ...details };
    },
    failed: (error) => unresolved(`Agent "${agent}"`, error),
  };
}

/**
 * Returns the limits left by the parent. A kept session gets another share for each turn, so only the dollar limit of its first share
 * applies: the models' prices must be known.
 */
function leftOf({ left, kept }: Partial<ParentInput> = {}): Pick<ResolveAgentInput, 'left'> {
  if (left === undefined) return {};
  if (!kept) return { left };
  const cost = costLimitOf(left);
  return cost === undefined ? {} : { left: cost };
}

/** A session with a dollar limit: the models' prices must be known. */
function pricedBy(session: SessionInput | undefined): Pick<ResolveAgentInput, 'priced'> {
  return costLimitOf(session?.limits) === undefined ? {} : { priced: true };
}

/** Asks a worker for an agent that takes over. It gets the run's tags and `live`, but no other overrides from the start. */
function handoffRequest(run: RequestingRun, agent: string): RequestOf<'resolveAgent', Resolved> {
  // The dollar limit applies to the whole run: the models' prices must be known.
  const limits = defined({ limits: costLimitOf(run.state?.limits) });
  return laterRequest(run, { agent, summary: `${run.snapshot.name} → ${agent}`, terms: limits });
}

/**
 * Asks a worker to resolve a session's agent again, with the start's overrides and the current deps. Limits raised since then are not
 * overrides.
 */
export function refreshRequest(run: RequestingRun): RequestOf<'resolveAgent', Resolved> {
  const { name } = run.snapshot;
  return laterRequest(run, { agent: name, summary: `${name} again`, terms: sessionOf(run.state ?? {})?.overrides ?? {} });
}

/** An agent that is resolved in the middle of a run, and its additional limits and settings. */
interface LaterAgent {
  agent: string;
  summary: string;
  terms: SessionOverrides;
}

function laterRequest(run: RequestingRun, { agent, summary, terms }: LaterAgent): RequestOf<'resolveAgent', Resolved> {
  const { name: from, tags, live, tier } = run.snapshot;
  const { deps = {}, principal } = run.state ?? {};
  const parent = parentOf(run.state ?? {});
  return {
    name: 'resolveAgent',
    key: ({ agent: resolved, from: before }) => (before === undefined ? undefined : resolved),
    tier: 'remote',
    options: { ...RESOLVE, summary: oneLine(summary, 200) },
    input: {
      ...runReference(run),
      agent,
      from,
      ...defined({ tags, live }),
      ...terms,
      ...pricedBy(sessionOf(run.state ?? {})),
      ...inheritedRules(parent),
      ...defined({ ofTier: tier }),
      ...(principal === undefined ? {} : { principal: true }),
      ...(fits(deps) ? { deps } : { depsByReference: true }),
    },
    returned: (output) => ({ type: 'resolved', ...splitResolved(output) }),
    failed: (error) => unresolved(`Agent "${agent}"`, error),
  };
}

/** Splits the result of `resolveAgent` into its parts. */
export function splitResolved({
  opening,
  notices,
  ...snapshot
}: ResolveAgentOutput): Omit<Extract<Resolved, { type: 'resolved' }>, 'type'> {
  return { snapshot, ...defined({ opening, notices }) };
}

/** Returns the outcome of a failed attempt to resolve an agent or program. */
export function unresolved(thing: string, error: unknown): Resolved {
  const problem = activityProblem(error);
  switch (problem.type) {
    case 'cancelled':
      return { type: 'cancelled' };
    case 'timed_out':
      return { type: 'failed', code: 'invalid_agent', message: `${thing} could not be resolved: ${problem.message}` };
    case 'failed':
      return {
        type: 'failed',
        code: problem.code ?? 'invalid_agent',
        message: problem.message,
        ...(notifiesEnd(error) ? { notifiesEnd: true } : {}),
      };
  }
}

/** Returns whether the worker has a `notifyEnded`, according to the failure's details. */
function notifiesEnd(error: unknown): boolean {
  const cause = activityCause(error);
  const [details]: unknown[] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return isJsonObject(details) && details['notifyEnded'] === true;
}

export function modelRequest(run: RequestingRun, call: ModelCall): RequestOf<'callModel', ModelCallOutcome> {
  const { snapshot } = run;
  const input: CallModelInput = {
    ...runReference(run),
    agent: snapshot.digest,
    through: call.through,
    lastEventId: call.lastEventId,
    ...defined({ results: call.resultIds, earlierIds: call.earlierIds, skipped: call.skippedEvents, news: call.news }),
    ...(call.firstStep ? { firstStep: true } : {}),
    ...(call.final ? { final: true } : defined({ withoutHosted: call.withoutHosted })),
    ...(call.shortened && snapshot.fallback !== undefined ? { shortened: true } : {}),
    ...defined({ paused: call.paused, hasRested: call.hasRested }),
    ...call.input,
    ...(hooksFor(snapshot, 'pre_request').length > 0 ? { step: call.step } : {}),
  };
  return {
    name: 'callModel',
    key: ({ through }) => String(through),
    tier: 'remote',
    options: modelOptions(snapshot, modelSummary(call, snapshot.model), hooksMs(inlineHooks(snapshot, ...MODEL_CALL_EVENTS))),
    input,
    ...(snapshot.tier === undefined ? {} : { again: (output) => withoutBatch(input, output) }),
    returned: modelOutcome,
    failed: (error) => modelFailure(snapshot.model, error),
  };
}

/** Returns the request of a model call that a message may interrupt: then it is cancelled, although the run is not. */
export function interruptibleRequest(
  request: ReturnType<typeof modelRequest>,
  cancelRequested: () => boolean,
): ReturnType<typeof modelRequest> {
  const interrupted = (outcome: ModelCallOutcome): ModelCallOutcome =>
    outcome.type === 'cancelled' && !cancelRequested() ? { ...outcome, type: 'interrupted' } : outcome;
  return {
    ...request,
    returned: (output) => interrupted(request.returned(output)),
    failed: (error) => interrupted(request.failed(error)),
  };
}

/** Returns the model call that summarizes the older part of the window. */
function summaryRequest(run: RequestingRun, { events, ...range }: SummaryRequest): RequestOf<'summarize', SummaryOutcome> {
  const { snapshot } = run;
  const model = summaryModelOf(snapshot);
  const isTitle = range.purpose === 'title';
  return {
    name: 'summarize',
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

/** The maximum time of one attempt at a title, and of all attempts: a session works without a title. */
const TITLE_MS = { attempt: 30_000, all: 60_000 };

/** Returns the options of the activity that generates a title. Once given up, it is not waited for. */
function titleOptions(snapshot: AgentSnapshot, summary: string): ActivityOptions {
  return {
    ...modelOptions(snapshot, summary),
    startToCloseTimeout: Math.min(snapshot.timing.modelTimeoutMs, TITLE_MS.attempt),
    scheduleToCloseTimeout: TITLE_MS.all,
    cancellationType: ActivityCancellationType.TRY_CANCEL,
    retry: { maximumAttempts: 2, initialInterval: '1s' },
  };
}

/** Returns the options of an activity that calls a model. `besideMs`: its time in addition to the call. */
export function modelOptions({ timing, fallback, tier }: AgentSnapshot, summary: string, besideMs = 0): ActivityOptions {
  return {
    summary,
    // A paid answer must not be lost to slow hooks. Each model of a list has the full time.
    startToCloseTimeout: (timing.modelTimeoutMs + besideMs) * (fallback?.models.length ?? 1),
    scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
    heartbeatTimeout: timing.heartbeatMs * MISSED_HEARTBEATS,
    // A cancelled activity returns the partial answer, so the run waits for it.
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry: { ...(timing.parks || tier === 'batch' ? {} : { maximumAttempts: modelAttempts(timing) }), ...LOST_DELAY },
  };
}

/** The delays of a refused call grow: more attempts do not fit into the patience. */
const MOST_REFUSALS = { first: 100, everyMs: 5_000 };

/**
 * Returns the ultimate bound on the attempts of a model call. The activity counts attempts itself, because those that the provider refuses
 * are bounded by time. It counts in heartbeats, which may get lost.
 */
export function modelAttempts({ modelMaxAttempts, modelPatienceMs = DEFAULT_PATIENCE_MS }: ActivityTiming): number {
  return modelPatienceMs === 0
    ? modelMaxAttempts
    : modelMaxAttempts + MOST_REFUSALS.first + Math.ceil(modelPatienceMs / MOST_REFUSALS.everyMs);
}

// The outcomes of model calls.

/** Returns the outcome of a model call that completed. */
export function modelOutcome(output: CallModelOutput): ModelCallOutcome {
  switch (output.type) {
    case 'response':
    case 'failed':
      return output;
    case 'aborted':
      return { type: 'cancelled', ...defined({ partial: output.partial }) };
    case 'unbatched':
      return { type: 'failed', code: 'internal', message: 'An immediate call has waited for a batch' };
  }
}

/** Returns the outcome of a summary that completed. */
export function summaryOutcome(output: SummarizeOutput): SummaryOutcome {
  if (!('type' in output)) return { type: 'summary', ...output };
  return { type: 'cancelled', ...defined({ partial: output.partial }) };
}

/** Returns the outcome of a summary that failed. */
export function summaryFailure(model: string, error: unknown): SummaryOutcome {
  return modelFailure(model, error);
}

/** Returns the outcome of a model call that failed. */
export function modelFailure(model: string, error: unknown): Extract<ModelCallOutcome, { type: 'failed' | 'cancelled' }> {
  const problem = activityProblem(error);
  if (problem.type === 'cancelled') return { type: 'cancelled' };
  const isTimeOut = problem.type === 'timed_out';
  const code = isTimeOut ? 'model_timeout' : (problem.code ?? 'model_error');
  const message = isTimeOut ? `Model "${model}" timed out: ${problem.message}` : problem.message;
  const spent = spentOn(error);
  return { type: 'failed', code, message, ...defined({ spent }) };
}

/** Reads the cost of a model call's failed attempts from its last failure, or else from its last heartbeat. */
function spentOn(error: unknown): Spent | undefined {
  const cause = activityCause(error);
  if (cause instanceof ApplicationFailure) {
    const [details]: unknown[] = cause.details ?? [];
    return spentIn(details) ?? spentIn(missingIn(details)?.details);
  }
  // The activity timed out while it was waiting for its next attempt, after a failure.
  if (cause instanceof TimeoutFailure) return spentIn(cause.lastHeartbeatDetails) ?? spentOn(cause.cause);
  return undefined;
}
