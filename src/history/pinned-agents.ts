import { splitResolved } from '../core/activity-requests/agent-requests.ts';
import { recordOfBurst } from '../core/activity-requests/burst-requests.ts';
import type { RunBurstInput } from '../core/activity-requests/contracts.ts';
import type { StoredBurst } from '../core/bursts/burst.ts';
import { keptAgents } from '../core/capabilities/handoffs.ts';
import type { AgentSnapshot } from '../core/domain/agent.ts';
import { fromContinueAsNewState } from '../core/kernel/continue-as-new.ts';
import { activitiesNamed, isHandoff, type RecordedActivity, type RecordedExecution } from './recorded-execution.ts';
import type { CallModelInput, CallModelOutput } from '../core/protocol.ts';
import type { ReadExecution } from './read-run.ts';

/** A model call of a history. */
export type RecordedModelCall = RecordedActivity<CallModelInput, CallModelOutput>;

/** True for a model call, and for a burst, which begins with one. */
export function isModelCall<Activity extends { name: string; input: unknown }>(
  activity: Activity,
): activity is Activity & { input: CallModelInput } {
  return activity.name === 'callModel' || activity.name === 'runBurst';
}

/** Returns all model calls of an execution, in their order, those of bursts among them. */
export function modelCallsOf({ recorded, run }: Pick<ReadExecution, 'recorded' | 'run'>): RecordedModelCall[] {
  return recorded.activities.filter(isModelCall).flatMap((activity): RecordedModelCall[] => {
    if (activity.name === 'callModel') return [activity as RecordedModelCall];
    const burst = activity as RecordedActivity<RunBurstInput, StoredBurst>;
    const { input, scheduledIn, task } = burst;
    // It is still open, and so is the call that it has begun with.
    if (task === undefined) return [{ input, scheduledIn }];
    return (recordOfBurst(burst, recorded.checkpoints)?.entries ?? []).flatMap(({ key, model }) => {
      const asked = run.modelCalls.get(key);
      if (model === undefined || asked === undefined) return [];
      return [{ input: asked, scheduledIn, task, ...(model.type === 'response' ? { output: model } : {}) }];
    });
  });
}

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
  const call = recorded.activities.findLast((one) => isModelCall(one) && one.input.through <= offset) as RecordedModelCall | undefined;
  return (call && pinnedAgents(recorded).get(call.input.agent)) ?? recorded.resolved?.snapshot;
}
