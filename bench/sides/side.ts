/** A codec that Longhaul is measured with: none, or compression of every payload that becomes smaller. */
export const CODECS = ['none', 'zstd'] as const;

/** One of `CODECS`. */
export type Codec = (typeof CODECS)[number];

/** The tier of the tool: a separate activity, or a local activity in the workflow task. */
export const TIERS = ['remote', 'local'] as const;

/** One of `TIERS`. */
export type Tier = (typeof TIERS)[number];

/** How the agent of Longhaul makes its steps: each call as an activity, or several steps in one, in bursts. */
export const PACES = ['step', 'burst'] as const;

/** One of `PACES`. */
export type Pace = (typeof PACES)[number];

/** A worker that runs the script in one process, and the client that starts its runs. */
export interface Runner {
  /**
   * Starts a run of `steps` steps and a final answer, and waits for its end. Rejects if it ends without that answer. `reasoningChars`: the
   * reasoning before each answer, for Longhaul alone.
   */
  run(runId: string, steps: number, reasoningChars?: number): Promise<void>;
  /** Drains its worker. */
  stop(): Promise<void>;
}

/** A side that is measured in this process: Longhaul, the loop that it is compared with, or the SDK alone. */
export interface Side extends Runner {
  name: 'longhaul' | 'loop' | 'remote' | 'sequence' | 'empty';
  /** The calls of a run of `steps` steps. */
  calls: (steps: number) => number;
  /** The activity types of a model call and of a tool call. */
  modelActivity: string;
  toolActivity: string;
}

/** The options for making a side. */
export interface SideSurroundings {
  address: string;
  namespace: string;
  /** The address of the fake provider. */
  baseURL: string;
  /** The length of a tool result in characters. */
  resultChars: number;
  /** The codec of Longhaul; the other sides have no codec. */
  codec: Codec;
  /** The tier of the tool of Longhaul and of the loop. */
  tier: Tier;
  /** The pace of Longhaul. Default: `step`. */
  pace?: Pace;
}

/** A model call and a tool call for each step, and the model call that gives the final answer. */
export function callsOf(steps: number): number {
  return 2 * steps + 1;
}

/** The second side runs with the garbage and timers of the first: each round begins with another side. */
export function inTurn<Item>(items: readonly Item[], round: number): Item[] {
  const first = (round - 1) % items.length;
  return [...items.slice(first), ...items.slice(0, first)];
}
