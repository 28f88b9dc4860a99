import type { Event } from '../../../src/core/domain/record.ts';
import type { AggregatedUsage } from '../../../src/core/domain/usage.ts';
import type { RunResultJson } from '../../../src/core/domain/result.ts';
import type { Ask, Effect } from '../processes/ledger.ts';

/** The result and the events of one run. */
export interface RunOfTree {
  /** With its steps. */
  result: RunResultJson<unknown>;
  events: Event[];
}

/** The data about a tree of runs after its end. */
export interface TreeRecord {
  runId: string;
  /** By their place in the tree. The root's place is empty. */
  runs: Record<string, RunOfTree>;
  /** The sum over the events of the tree. */
  tally: AggregatedUsage;
  /** The status of the root, and its pending approvals, while only a descendant's wait was in progress. */
  waiting: { status: string; children: string[]; pending: string[] };
  /** The number of executions of the root. */
  executions: number;
  effects: Effect[];
  asks: Ask[];
  /** The number of attempts that the server has given up because their heartbeats stopped, by the points of `asks`. */
  givenUp: ReadonlyMap<string, number>;
  /** The number of times that worker or server were killed meanwhile. */
  kills: number;
}
