import type { Event } from '../../../src/core/domain/record/event.ts';
import type { RunResultJson } from '../../../src/core/domain/run/result.ts';
import type { Effect } from '../processes/ledger.ts';

/** What is known of a run after its end. */
export interface RunRecord {
  runId: string;
  /** With its steps. */
  result: RunResultJson<unknown>;
  events: Event[];
  /** What the run said of itself while it waited for the decision. */
  waiting: { status: string; waitingFor: string[] };
  /** Executions that it took. */
  executions: number;
  effects: Effect[];
  /** How often worker or server were killed meanwhile. */
  kills: number;
  /** Activities, by their type, of which the server has given up the last attempt. */
  timedOut: string[];
}
