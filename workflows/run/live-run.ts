import type { CancellationScope, Sinks } from '@temporalio/workflow';
import type { LastBurst } from '../../src/core/activity-requests/burst-requests.ts';
import type { AgentDocument, AgentSnapshot } from '../../src/core/domain/agent.ts';
import type { Decision } from '../../src/core/domain/approvals.ts';
import type { JsonObject } from '../../src/core/domain/json.ts';
import type { Missing } from '../../src/core/domain/missing-definitions.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import type { SessionKind } from '../../src/core/domain/run-input.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import type { TracedBeginning, TracedPart } from '../../src/core/domain/traced-part.ts';
import type { StreamEntry } from '../../src/core/domain/stream.ts';
import type { ChildEnd } from '../../src/core/domain/children.ts';
import type { Checkpoint } from '../../src/core/bursts/burst.ts';
import type { DeadlineWatch } from '../../src/core/deadline-watch.ts';
import type { Inbox } from '../../src/core/kernel/inbox.ts';
import type { RunState } from '../../src/core/kernel/run-state.ts';
import type { NewEvents, StepValuesAnswer } from '../../src/core/protocol.ts';

/** The state of a run in its workflow. */
export interface LiveRun {
  runId: string;
  /** The prefix of the handlers of a run inside a workflow of the user; undefined for a run that is a workflow itself. */
  key?: string;
  agentName: string;
  /** The deps at the start of the execution: `state` has newer ones. */
  deps: JsonObject;
  /** Milliseconds since the epoch. */
  startedAt: number;
  /** The number of executions of the run, including this one. */
  executions: number;
  inbox: Inbox;
  /** The number of ended activities in this execution: before the first, it must not continue as new. */
  activitiesEnded: number;
  /** The number of Updates during the last activity: as many may arrive during the next. */
  recentUpdates: number;
  /** True once this execution accepts no more decisions: the next execution or the record answers pending ones. */
  ending: boolean;
  /** The number of handlers that wait for the outcome of a decision. */
  answering: number;
  /** The number of signals to the parent that the server has not delivered yet. */
  telling: number;
  /** Decisions whose author is being checked, by their id. */
  authorizing: Map<string, Decision>;
  /** What activities wait for because workers lacked it. */
  missing: Missing[];
  /** Called when `missing` has changed. */
  showMissing?: () => void;
  /** The input bytes of the children being started. */
  startingBytes?: number;
  /** The model call in flight, which a message may interrupt. */
  modelCall?: CancellationScope;
  /** The scope of model calls. */
  modelScope?: CancellationScope;
  /** The burst in progress. A request ends it. */
  burst?: LiveBurst;
  /** The deadline of the run, once something is to be given up then. */
  deadline?: LiveDeadline;
  /** The last burst, for the summary of the next one. */
  lastBurst?: LastBurst;
  /** The scope of bursts, and the cancellation scope of the run or its turn. */
  burstScope?: { outer: CancellationScope; scope: CancellationScope };
  /** The scope of the current turn of a session. */
  turnScope?: CancellationScope;
  /** The input of a program, which its first activity queries. */
  programInput?: NonNullable<StepValuesAnswer['program']>;
  /** The text of the input, which the first activity queries if it needs it. */
  input?: string;
  /** The agent that came with the input, which the first activity queries. */
  document?: AgentDocument;
  /** The identity on whose behalf the run acts. Present in its first execution. */
  principal?: Principal;
  /** The kind of session that the run begins as. Present in the first execution of a session. */
  opensAs?: SessionKind;
  snapshot?: AgentSnapshot;
  state?: RunState;
  /** True if the agent could not be resolved and the worker has `notifyEnded`. */
  notifiesEnd?: true;
  /** The ends of kept sessions that this execution has started, by run id. */
  keptEnds?: Map<string, ChildEnd>;
  /** The ids of children that started while the run was paused. */
  startedPaused?: string[];
  /** How much of this execution's record was already traced. */
  traced?: { events: number; steps: number; turns: number };
  /** The ids of the calls that have waited for a decision since then. */
  waited?: Set<string>;
  /** The turn of a session that the worker process knows, and up to which event. */
  turnShown?: { turn: number; through: number };
  /** Set when the run has ended and `notifyEnded` is called. */
  result?: RunResultFields;
}

/** The watch of a run's deadline, and the scopes of the calls that it gives up, each with the scope of the run or its turn. */
export interface LiveDeadline {
  watch: DeadlineWatch;
  scopes: Map<CancellationScope, CancellationScope>;
}

/** A burst in progress. */
interface LiveBurst {
  scope: CancellationScope;
  readonly seed: string;
  readonly begunAt: number;
  /** True if the run or its turn is cancelled. */
  readonly isCancelled: boolean;
  /** Ends it, with the call in flight. */
  giveUp(): void;
  /** True once the run waits for its end. */
  isEnding?: true;
  /** What the server had stored when the run began to wait for the end, if no worker was making an attempt. */
  stored?: Checkpoint;
}

/** A run whose agent is known. */
export type ResolvedRun = LiveRun & Required<Pick<LiveRun, 'snapshot'>>;

/** The totals of a run, and its status. */
type RecordedTotals = Omit<Extract<StreamEntry, { type: 'recorded' }>, 'type' | 'executionId'>;

/** A call whose outcome is unknown. */
export interface UnknownOutcome {
  tool: string;
  agent: string;
  callId: string;
  step: number;
  /** How its answer was lost. */
  reason: string;
}

/** The sinks through which the sandbox notifies the worker process, without waiting for an answer. */
export interface LonghaulSinks extends Sinks {
  longhaul: {
    /** Reports that the run is being cancelled. May be called again when a workflow task is executed again. */
    cancelRequested(): void;
    /**
     * Reports that the model call of the run is to be interrupted. `key` is the key of a run inside a workflow of the
     * user, or empty. May be called again as well.
     */
    interruptRequested(key: string): void;
    /** Passes on the new events for a model call before it is scheduled. `key` as above. May be called again as well. */
    conversationGrew(key: string, news: NewEvents): void;
    /**
     * Reports that the run has recorded something, or that its status has changed. `waitsAnew`: it waits for a decision, but not the same
     * ones as before. May be called again as well.
     */
    recorded(totals: RecordedTotals, waitsAnew: boolean): void;
    /** Reports that a run begins. `beginning`: absent for a run whose input was refused. May be called again as well. */
    runStarted(agentName: string, beginning?: TracedBeginning): void;
    /**
     * Reports that a call of a tool with the effect `once` may have taken effect, and that its outcome is unknown. May be called again as
     * well.
     */
    outcomeUnknown(call: UnknownOutcome): void;
    /** Reports the turn of a session, for activities about events before `through`. May be called again as well. */
    turnReached(turn: number, through: number): void;
    /**
     * Passes on the traced part of a turn or an execution that ends. `key` as above. `at`: the time in the workflow. May be called
     * again as well, with other content.
     */
    traced(key: string, part: TracedPart, at: number): void;
  };
}
