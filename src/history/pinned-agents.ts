import { splitResolved } from '../core/activity-requests/agent-requests.ts';
import { keptAgents } from '../core/capabilities/handoffs.ts';
import type { AgentSnapshot } from '../core/domain/agent.ts';
import { fromContinueAsNewState } from '../core/kernel/continue-as-new.ts';
import { activitiesNamed, isHandoff, type RecordedActivity, type RecordedExecution } from './recorded-execution.ts';
import type { CallModelInput, CallModelOutput } from '../core/protocol.ts';

/** A model call of a history. */
export type RecordedModelCall = RecordedActivity<CallModelInput, CallModelOutput>;

/** Returns the agents that one execution of a run has had, as they are pinned, by their digests. */
export function pinnedAgents(recorded: RecordedExecution): ReadonlyMap<string, AgentSnapshot> {
  const { continuedState, resolved } = recorded;
  // The reading of a carried state takes it over.
  const carried = continuedState === undefined ? [] : keptAgents(fromContinueAsNewState(structuredClone(continuedState)).state);
  const takenOver = activitiesNamed(recorded, 'resolveAgent').flatMap(({ input, output }) =>
    output === undefined || !isHandoff({ name: 'resolveAgent', input }) ? [] : [splitResolved(output).snapshot],
  );
  const all = [...carried, ...(resolved === undefined ? [] : [resolved.snapshot]), ...takenOver];
  return new Map(all.map((snapshot) => [snapshot.digest, snapshot]));
}

/**
 * Returns the agent that acted when the run had recorded so many events: the one of the last model call that had begun by then, or the
 * one that the execution began with. Undefined if no agent was resolved.
 */
export function agentAt(recorded: RecordedExecution, offset: number): AgentSnapshot | undefined {
  const call = activitiesNamed(recorded, 'callModel').findLast(({ input }) => input.through <= offset);
  return (call && pinnedAgents(recorded).get(call.input.agent)) ?? recorded.resolved?.snapshot;
}
