/** A codec that Longhaul is measured with: none, or compression of every payload that it makes smaller. */
export const CODECS = ['none', 'zstd'] as const;

/** One of `CODECS`. */
export type Codec = (typeof CODECS)[number];

/** How the tool runs: as an activity of its own, or within the task of the workflow. */
export const TIERS = ['remote', 'local'] as const;

/** One of `TIERS`. */
export type Tier = (typeof TIERS)[number];

/** What runs the script in one process: a worker, and the client that starts its runs. */
export interface Runner {
  /** Starts a run of so many steps and a final answer, and waits for its end. Rejects unless it came to that answer. */
  run(runId: string, steps: number): Promise<void>;
  /** Drains its worker. */
  stop(): Promise<void>;
}

/** Something that runs the script and is measured in this process: Longhaul, the loop that it is compared with, or what the SDK costs by itself. */
export interface Side extends Runner {
  name: 'longhaul' | 'loop' | 'remote' | 'sequence' | 'empty';
  /** The calls of a run of so many steps. */
  calls: (steps: number) => number;
  /** The activity types of a model call and of a tool call. */
  modelActivity: string;
  toolActivity: string;
}

/** What a side is made from. */
export interface SideSurroundings {
  address: string;
  namespace: string;
  /** Of the fake provider. */
  baseURL: string;
  /** Length of a tool result. */
  resultChars: number;
  /** Of Longhaul alone: what it is compared with has none. */
  codec: Codec;
  /** Of Longhaul and the loop. */
  tier: Tier;
}

/** A model call and a tool call for each step, and the model call that gives the final answer. */
export function callsOf(steps: number): number {
  return 2 * steps + 1;
}
