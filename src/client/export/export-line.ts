import type { NotArchived } from '../../core/domain/record/not-archived.ts';
import type { RunResultFields } from '../../core/domain/run/run-result.ts';
import type { RunRecord } from '../../core/domain/record/run-record.ts';
import type { AggregatedUsage } from '../../core/domain/model/usage.ts';

/** A range of offsets or indexes: from `from` up to, and without, `through`. */
export interface MissingRange {
  from: number;
  through: number;
}

/** The first line of an export: which run it is. */
export interface ExportedRun {
  type: 'run';
  version: 1;
  runId: string;
  namespace: string;
  /** Empty where nothing of the run is left on the server. */
  agentName: string;
  /** The digest of the agent's snapshot; null where the agent was never resolved or nothing is left on the server. */
  snapshotDigest: string | null;
  /** ISO 8601; null where nothing is left on the server. */
  startTime: string | null;
}

/** Stands before what an execution of the run has recorded: where the run continued as new. */
export interface ExportedExecution {
  type: 'execution';
  /** 1-based, in the run as a whole. */
  number: number;
  /** Temporal's run id. */
  executionId: string;
  /** The execution before; null for the first. */
  continuedFrom: string | null;
  /** Offset of its first event. */
  offset: number;
  /** Index of its first step. */
  step: number;
}

/** The last line of an export: what it holds, and what is missing. */
export interface ExportSummary {
  type: 'summary';
  version: 1;
  runId: string;
  /** The run goes on: this is what it had recorded when it was read. */
  live: boolean;
  /** How many of each are in this export. */
  events: number;
  steps: number;
  executions: number;
  /** Offsets of events that are missing. */
  gaps: MissingRange[];
  /** Indexes of steps that are missing. */
  missingSteps: MissingRange[];
  /** Events that the run could not hand to its archive: those that are here came from the server, which removes them after its retention period. */
  notArchived?: NotArchived[];
}

/** One line of an export. */
export type ExportLine =
  | ExportedRun
  /** Stands before what comes from the archive, because the server has removed it. */
  | { type: 'archive'; offset: number; step: number }
  | ExportedExecution
  | RunRecord
  /** What the run has used so far. */
  | ({ type: 'usage'; toolCallsTotal: number; toolCallsByName: Record<string, number> } & AggregatedUsage)
  /** How the run ended, with an output of any size and without its steps. Only of a run that has ended. */
  | ({ type: 'result' } & Omit<RunResultFields, 'steps'>)
  /** In the place of the result, for a run that was ended from outside. */
  | { type: 'failure'; code: string; message: string }
  | ExportSummary;
