import type { Event } from '../../../src/core/domain/record.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { Effect } from '../processes/ledger.ts';

/** The data about a run after its end. */
export interface RunRecord {
  runId: string;
  /** With its steps. */
  result: RunResultJson<unknown>;
  events: Event[];
  /** The status of the run while it waited for the decision. */
  waiting: { status: string; waitingFor: string[] };
  /** The number of its executions. */
  executions: number;
  effects: Effect[];
  /** The number of times that worker or server were killed meanwhile. */
  kills: number;
  /** The types of the activities whose last attempt the server has given up. */
  timedOut: string[];
}
