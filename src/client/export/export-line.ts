import type { CallsNotRun } from '../../core/domain/tool-calls.ts';
import type { NotArchived } from '../../core/domain/run.ts';
import type { RunResultFields } from '../../core/domain/result.ts';
import type { RunRecord } from '../../core/domain/record.ts';
import type { AggregatedUsage } from '../../core/domain/usage.ts';

/** A range of offsets or indexes: from `from` up to, and without, `through`. */
export interface MissingRange {
  from: number;
  through: number;
}

/** The first line of an export: the run that it is about. */
export interface ExportedRun {
  type: 'run';
  version: 1;
  runId: string;
  namespace: string;
  /** Empty if nothing of the run is left on the server. */
  agentName: string;
  /** The digest of the agent's snapshot; null if the agent was never resolved or nothing is left on the server. */
  snapshotDigest: string | null;
  /** ISO 8601; null if nothing is left on the server. */
  startTime: string | null;
}

/** The line before the records of an execution: at the start, and at each point at which the run continued as new. */
export interface ExportedExecution {
  type: 'execution';
  /** 1-based, in the run as a whole. */
  number: number;
  /** Temporal's run id. */
  executionId: string;
  /** The id of the execution before; null for the first. */
  continuedFrom: string | null;
  /** The offset of its first event. */
  offset: number;
  /** The index of its first step. */
  step: number;
}

/** The last line of an export: how much it holds, and what is missing. */
export interface ExportSummary {
  type: 'summary';
  version: 1;
  runId: string;
  /** True if the run goes on: the export has what was recorded when it was read. */
  live: boolean;
  /** The number of events in this export; `steps` and `executions` count those. */
  events: number;
  steps: number;
  executions: number;
  /** The offsets of events that are missing. */
  gaps: MissingRange[];
  /** The indexes of steps that are missing. */
  missingSteps: MissingRange[];
  /** Events that the run could not write to its archive: those in this export came from the server, which removes them after its retention period. */
  notArchived?: NotArchived[];
}

/** One line of an export. */
export type ExportLine =
  | ExportedRun
  /** The line before the records from the archive, which the server has removed. */
  | { type: 'archive'; offset: number; step: number }
  | ExportedExecution
  | RunRecord
  /** The usage of the run so far. */
  | ({ type: 'usage'; toolCallsTotal: number; toolCallsByName: Record<string, number>; toolCallsNotRun?: CallsNotRun } & AggregatedUsage)
  /** The end of the run, with an output of any size and without its steps. Present only for a run that has ended. */
  | ({ type: 'result' } & Omit<RunResultFields, 'steps'>)
  /** The line in place of the result, for a run that was ended from outside. */
  | { type: 'failure'; code: string; message: string }
  | ExportSummary;
