import type { AgentSnapshot } from '../src/domain/agent-snapshot.ts';
import type { JsonObject } from '../src/domain/json.ts';
import type { RunState } from '../src/loop/run-state.ts';
import type { Inbox } from '../src/loop/inbox.ts';

/** A run as its workflow holds it, from its first moment on. */
export interface LiveRun {
  runId: string;
  /** Names the handlers of a run inside a workflow of the user; undefined for a run that is a workflow of its own. */
  key?: string;
  agentName: string;
  deps: JsonObject;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The executions of the run, this one included. */
  executions: number;
  inbox: Inbox;
  /** Activities that have ended in this execution: without any it must not continue as new. */
  activitiesEnded: number;
  /** Updates that came during the last activity: as many may come during the next. */
  recentUpdates: number;
  snapshot?: AgentSnapshot;
  state?: RunState;
}

/** A run whose agent is known. */
export type ResolvedRun = LiveRun & Required<Pick<LiveRun, 'snapshot'>>;
