import { type ActivityOptions, ApplicationFailure } from '@temporalio/common';
import { activityCause, activityProblem } from './activity-outcome.ts';
import { withDocument } from '../domain/agent/agent-document.ts';
import type { Resolved } from '../domain/run/resolved.ts';
import { isJsonObject } from '../domain/json/json.ts';
import type { ParentInput } from '../domain/run/parent-run.ts';
import { overridesIn } from '../domain/run/overrides.ts';
import type { SessionInput } from '../domain/sessions/session-input.ts';
import type { SessionOverrides } from '../domain/sessions/session-state.ts';
import { oneLine } from '../domain/content/text.ts';
import { ACTIVITIES, type ResolveAgentInput, type ResolveAgentOutput, type RunInput } from '../protocol.ts';
import { type ActivityRequest, fits, type RequestingRun, runReference, SCHEDULE_TO_CLOSE, HEARTBEAT_TIMEOUT } from './activity-request.ts';

/** Bounded, because resolving an agent is quick and a worker that does not know it must not try for ever. */
export const RESOLVE: ActivityOptions = {
  startToCloseTimeout: '1 minute',
  scheduleToCloseTimeout: SCHEDULE_TO_CLOSE,
  heartbeatTimeout: HEARTBEAT_TIMEOUT,
  retry: { maximumAttempts: 5, initialInterval: '1s', backoffCoefficient: 2 },
};

/** Asks a worker for the agent, as it is pinned for the whole run. */
export function resolveRequest(run: { key?: string }, input: RunInput): ActivityRequest<ResolveAgentInput, ResolveAgentOutput, Resolved> {
  const { agent, document, flow, limits, deps, principal, parent, fromCall, session } = input;
  return {
    name: ACTIVITIES.resolveAgent,
    tier: 'remote',
    options: { ...RESOLVE, summary: oneLine(agent, 200) },
    input: {
      ...runReference(run),
      agent,
      ...(document === undefined ? {} : { ofDocument: true }),
      ...(flow === undefined ? {} : { flow }),
      ...(limits === undefined ? {} : { limits }),
      ...pricedBy(session),
      ...leftOf(parent),
      ...(parent === undefined || fromCall === undefined ? {} : { ofCall: { ...fromCall, runId: parent.runId } }),
      ...(parent?.permissions === undefined ? {} : { permissions: parent.permissions }),
      ...(parent?.hooks === undefined ? {} : { hooks: parent.hooks }),
      ...(principal === undefined ? {} : { principal: true }),
      ...overridesIn(input),
      ...(deps === undefined ? {} : fits(deps) ? { deps } : { depsByReference: true }),
    },
    returned: (output) => {
      const { snapshot, ...beside } = splitResolved(output);
      return { type: 'resolved', snapshot: document === undefined ? snapshot : withDocument(snapshot, document), ...beside };
    },
    failed: (error) => unresolved(`Agent "${agent}"`, error),
  };
}

/** A session that the parent keeps is given another part for each turn. Only the limit in dollars is that of the first: the prices of the models must be known. */
function leftOf({ left, kept }: Partial<ParentInput> = {}): Pick<ResolveAgentInput, 'left'> {
  if (left === undefined) return {};
  if (!kept) return { left };
  return left.costUsd === undefined ? {} : { left: { costUsd: left.costUsd } };
}

/** A session that has a limit in dollars: the prices of the models must be known. */
function pricedBy(session: SessionInput | undefined): Pick<ResolveAgentInput, 'priced'> {
  const { costUsd } = session?.limits ?? {};
  return costUsd === undefined || costUsd === null ? {} : { priced: true };
}

/** Asks a worker for an agent that takes over from the one that acts. It gets the tags of the run, is live like it, and gets no other overrides of its start. */
export function handoffRequest(run: RequestingRun, agent: string): ActivityRequest<ResolveAgentInput, ResolveAgentOutput, Resolved> {
  const { costUsd } = run.state?.limits ?? {};
  // The limit in dollars holds for the whole run: the prices of the models must be known.
  const limits = costUsd === undefined ? {} : { limits: { costUsd } };
  return laterRequest(run, { agent, summary: `${run.snapshot.name} → ${agent}`, terms: limits });
}

/** Asks a worker for the agent of a session once more, with the overrides of the start and the present deps. Limits that were raised since are no such overrides. */
export function refreshRequest(run: RequestingRun): ActivityRequest<ResolveAgentInput, ResolveAgentOutput, Resolved> {
  const { name } = run.snapshot;
  return laterRequest(run, { agent: name, summary: `${name} again`, terms: run.state?.session?.overrides ?? {} });
}

/** An agent that is resolved in the middle of a run, and the limits and settings that it has besides its own. */
interface LaterAgent {
  agent: string;
  summary: string;
  terms: SessionOverrides;
}

function laterRequest(
  run: RequestingRun,
  { agent, summary, terms }: LaterAgent,
): ActivityRequest<ResolveAgentInput, ResolveAgentOutput, Resolved> {
  const { name: from, tags, live } = run.snapshot;
  const { deps = {}, parent, principal, session } = run.state ?? {};
  return {
    name: ACTIVITIES.resolveAgent,
    tier: 'remote',
    options: { ...RESOLVE, summary: oneLine(summary, 200) },
    input: {
      ...runReference(run),
      agent,
      from,
      ...(tags === undefined ? {} : { tags }),
      ...(live === undefined ? {} : { live }),
      ...terms,
      ...pricedBy(session),
      ...(parent?.permissions === undefined ? {} : { permissions: parent.permissions }),
      ...(parent?.hooks === undefined ? {} : { hooks: parent.hooks }),
      ...(principal === undefined ? {} : { principal: true }),
      ...(fits(deps) ? { deps } : { depsByReference: true }),
    },
    returned: (output) => ({ type: 'resolved', ...splitResolved(output) }),
    failed: (error) => unresolved(`Agent "${agent}"`, error),
  };
}

/** Returns the parts of the result of `resolveAgent`. */
export function splitResolved({
  opening,
  notices,
  ...snapshot
}: ResolveAgentOutput): Omit<Extract<Resolved, { type: 'resolved' }>, 'type'> {
  return { snapshot, ...(opening === undefined ? {} : { opening }), ...(notices === undefined ? {} : { notices }) };
}

/** Returns the outcome of resolving a thing that failed. */
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

/** Reads from the details of the failure if the worker has a `notifyEnded` hook. */
function notifiesEnd(error: unknown): boolean {
  const cause = activityCause(error);
  const [details]: unknown[] = cause instanceof ApplicationFailure ? (cause.details ?? []) : [];
  return isJsonObject(details) && details['notifyEnded'] === true;
}
