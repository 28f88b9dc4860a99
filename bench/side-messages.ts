import type { SideSurroundings } from './side.ts';

/** What a process that holds a side is started with, as the JSON of its first argument. */
export interface SideSetting extends SideSurroundings {
  /** The activity types that are model or tool calls. */
  calls: string[];
}

/** What the bench asks of such a process. */
export type SideRequest = { type: 'run'; runId: string; steps: number } | { type: 'cpu' } | { type: 'stop' };

/** What it answers. It says `ready` by itself, once its worker polls. */
export type SideReply = { type: 'ready' } | SideRun | { type: 'cpu'; ms: number };

/** One run as its process saw it. */
export interface SideRun {
  type: 'ran';
  runId: string;
  /** From the client's start to its result. */
  ms: number;
  /** When each call started, in milliseconds of that process' clock. */
  starts: number[];
  /** Attempts of activities beyond the first, of all runs of the process so far. */
  retries: number;
  /** Why the run came to no final answer. */
  error?: string;
}
