import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import type { Decision } from '../domain/approvals/approval.ts';
import type { JsonObject } from '../domain/json/json.ts';
import type { Missing } from '../domain/errors/missing.ts';
import type { Inbox } from '../loop/state/inbox.ts';
import type { RunResultFields } from '../domain/run/run-result.ts';
import type { RunState } from '../loop/state/run-state.ts';

/** A run as it answers questions about itself. */
export interface AskedRun {
  readonly runId: string;
  readonly agentName: string;
  /** As the execution began with them: those of `state` are newer. */
  readonly deps: JsonObject;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The executions of the run, this one included. */
  readonly executions: number;
  readonly inbox: Inbox;
  /** Decisions whose author is being checked, by their id. */
  readonly authorizing: ReadonlyMap<string, Decision>;
  /** What activities wait for because workers lack it. Absent where no other worker is waited for. */
  readonly missing?: readonly Missing[];
  /** Undefined until the agent is resolved, like the state. */
  readonly snapshot?: AgentSnapshot;
  readonly state?: RunState;
  /** Once it has ended, and somebody is told of that. */
  readonly result?: RunResultFields;
}
