import type { AgentSnapshot } from '../agent/agent-snapshot.ts';
import type { FlowState } from '../flows/flow-policy.ts';
import type { AggregatedUsage } from '../model/usage.ts';
import type { Notice } from '../record/notice.ts';

/** The agents of a run that has been handed over, beside the one that acts. Plain JSON: it is carried into the next execution as it is. */
export interface HandoffState {
  /** The name of the agent, or of the flow, that the run began with. */
  first: string;
  /** The most handoffs of the run. */
  max: number;
  /** The handoffs so far. */
  count: number;
  /** The snapshots of agents that the run has had, the one that acted last at the end. They are bounded: one that is left out is resolved again. */
  pinned: AgentSnapshot[];
  /** The snapshot of the agent that takes over once the step has ended. */
  next?: AgentSnapshot;
  /** What a person should know of its tools. */
  notices?: Notice[];
  /** The turns of the agents, if the run is that of a flow. */
  flow?: FlowState;
  /** The names of the agents that have answered in this turn. Only of those that must call a tool in the first step of it. */
  acted?: string[];
  /** The usage of each agent that has acted, by its name, in the order of their first turns. */
  usage: [name: string, usage: AggregatedUsage][];
}

/** The most snapshots that a run keeps of agents that do not act, and their bytes of JSON. */
export const PINNED_SNAPSHOTS = { count: 20, bytes: 200_000 };
