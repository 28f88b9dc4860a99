import type { ProgramProcess } from '../../test/processes/program-process.ts';
import type { SideSurroundings } from './side.ts';

/** The settings of a side's process, passed as the JSON of its first argument. */
export interface SideSetting extends SideSurroundings {
  /** The activity types that are model or tool calls. */
  calls: string[];
}

/** A message to such a process. */
export type SideRequest = { type: 'run'; runId: string; steps: number } | { type: 'cpu' } | { type: 'heap' } | { type: 'stop' };

/**
 * A message from such a process. It sends `ready` once its worker polls. `bytes` are the sizes of both heaps after a collection: a process
 * that was started with `MEASURED_MEMORY` knows them.
 */
export type SideReply = { type: 'ready' } | SideRun | { type: 'cpu'; ms: number } | { type: 'heap'; bytes: number };

/** The measurements of one run in its process. */
export interface SideRun {
  type: 'ran';
  runId: string;
  /** Milliseconds from the client's start to its result. */
  ms: number;
  /** The start of each call, in milliseconds of the process's clock. */
  starts: number[];
  /** Attempts of activities beyond the first, of all runs of the process so far. */
  retries: number;
  /** The reason why the run has no final answer. */
  error?: string;
}

/** The process of a side. */
export type SideProcess = ProgramProcess<SideRequest, SideReply>;
