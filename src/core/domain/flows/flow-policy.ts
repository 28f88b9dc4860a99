import type { JsonObject } from '../json/json.ts';

/**
 * The way in which the agents of a flow act. `sequential`: each acts once, in order. `loop`: all act again after the last one.
 * `parallel`: all act at the same time, each in a run of its own.
 */
export type FlowKind = 'sequential' | 'loop' | 'parallel';

/** The agents of a flow, pinned in the snapshot of the first one that acts, or of the flow itself if it is parallel. */
export interface FlowPolicy {
  /** The name of the flow, by which its runs are found. */
  name: string;
  kind: FlowKind;
  /** The names of the agents, in order. */
  agents: string[];
  /** The number of rounds of a loop. */
  maxIterations: number;
  /** The schema of an answer that ends a loop. Absent: the number of rounds alone ends it. */
  until?: JsonObject;
}

/** The order of agents as the input of a run has it. The run then has a name of its own in place of that of an agent. */
export type FlowInput = Omit<FlowPolicy, 'name' | 'maxIterations'> & Partial<Pick<FlowPolicy, 'maxIterations'>>;

/** The position of a run in its flow. */
export interface FlowState extends FlowPolicy {
  /** The index of the agent whose turn it is. */
  turn: number;
  /** The round, from 1. */
  iteration: number;
  /** The agent has answered, and the next one takes its turn before the model is called again. */
  isDue?: true;
}

/** The rounds of a loop that sets no other number. */
export const DEFAULT_ITERATIONS = 5;
