import type { RunLimits } from '../../core/domain/limits.ts';
import type { AggregatedUsage } from '../../core/domain/usage.ts';
import type { RunStatus } from '../../core/domain/run.ts';

/** A run and the runs below it. */
export interface RunTree {
  runId: string;
  kind: 'agent' | 'program';
  /** The name of the agent or the program. */
  agentName: string;
  status: RunStatus;
  /** The steps of the run itself; for a program, its own model calls. */
  steps: number;
  /** The number of turns that have begun, if the run is a session: the limit of steps is then that of each turn. */
  turns?: number;
  /** The limits of the run. Absent until its agent is resolved. Those of a program include what its children use. */
  limits?: RunLimits;
  /** The usage of the run itself. */
  usage: AggregatedUsage;
  /** The usage of the run and of all runs below it, also of those that go on. */
  treeUsage: AggregatedUsage;
  /** The names of the tools, or the steps of a program, whose calls wait for a decision in the run itself. */
  waitingFor: string[];
  /** The runs that it has started, in the order in which they are known. */
  children: RunTree[];
}
