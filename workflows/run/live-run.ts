import type { CancellationScope } from '@temporalio/workflow';
import type { Decision } from '../../src/core/domain/approvals/approval.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { JsonObject } from '../../src/core/domain/json/json.ts';
import type { Missing } from '../../src/core/domain/errors/missing.ts';
import type { RunResultFields } from '../../src/core/domain/run/run-result.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';
import type { Inbox } from '../../src/core/loop/state/inbox.ts';

/** A run as its workflow holds it, from its first moment on. */
export interface LiveRun {
  runId: string;
  /** Names the handlers of a run inside a workflow of the user; undefined for a run that is a workflow of its own. */
  key?: string;
  agentName: string;
  /** As the execution began with them: those of `state` are newer. */
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
  /** Nothing more is decided in this execution: what is not answered yet is answered by the next, or by the record. */
  ending: boolean;
  /** Handlers that wait for what comes of a decision. */
  answering: number;
  /** Decisions whose author is being checked, by their id. */
  authorizing: Map<string, Decision>;
  /** What activities wait for because the workers that took them lacked it. */
  missing: Missing[];
  /** Told where that has changed. */
  showMissing?: () => void;
  /** The model call in flight, which a message may interrupt. */
  modelCall?: CancellationScope;
  /** What model calls run in. */
  modelScope?: CancellationScope;
  snapshot?: AgentSnapshot;
  state?: RunState;
  /** The agent could not be resolved by a worker that tells of ends. */
  notifiesEnd?: true;
  /** Once the run has ended, and somebody is told of that. */
  result?: RunResultFields;
}

/** A run whose agent is known. */
export type ResolvedRun = LiveRun & Required<Pick<LiveRun, 'snapshot'>>;
