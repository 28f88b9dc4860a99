import type { Event } from '../../../src/core/domain/record.ts';
import type { ProgramResultJson, RunResultJson } from '../../../src/core/domain/result.ts';
import type { ExecutionTraceJson } from '../../../src/core/domain/trace.ts';
import type { FoundEntry } from '../../../src/memory/memory-store.ts';
import type { Ask, Effect } from '../processes/ledger.ts';

/** The result and the events of a run, a child's for instance. */
export interface ChildRecord {
  result: RunResultJson<unknown>;
  events: Event[];
}

/** The data about a run of the program after its end. */
export interface ErrandRecord {
  runId: string;
  result: ProgramResultJson<unknown>;
  events: Event[];
  trace: ExecutionTraceJson;
  /** By the steps that have started them. */
  children: Record<string, ChildRecord>;
  /** The status of the run while it waited for the answer to its question. */
  waiting: { status: string; waitingFor: string[] };
  /** The number of its executions. */
  executions: number;
  effects: Effect[];
  asks: Ask[];
  /** The number of attempts that the server has given up because their heartbeats stopped, by the points of `asks`. */
  givenUp: ReadonlyMap<string, number>;
  /** The entries that it has stored in the memory. */
  memory: FoundEntry[];
  /** The number of times that worker or server were killed meanwhile. */
  kills: number;
}
