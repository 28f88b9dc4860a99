import type { AgentDocument } from '../domain/agent/agent-document.ts';
import type { AgentSnapshot } from '../domain/agent/agent-snapshot.ts';
import type { Decision } from '../domain/approvals/approval.ts';
import type { JsonObject } from '../domain/json/json.ts';
import type { Missing } from '../domain/errors/missing.ts';
import type { Inbox } from '../loop/state/inbox.ts';
import type { Principal } from '../domain/run/principal.ts';
import type { RunResultFields } from '../domain/run/result.ts';
import type { StepValuesAnswer } from '../domain/program/messages.ts';
import type { RunState } from '../loop/state/run-state.ts';

/** The part of a run that answers queries. */
export interface QueriedRun {
  readonly runId: string;
  readonly agentName: string;
  /** The deps at the start of the execution: those in `state` are newer. */
  readonly deps: JsonObject;
  /** Milliseconds since the epoch. */
  readonly startedAt: number;
  /** The number of executions of the run, including this one. */
  readonly executions: number;
  readonly inbox: Inbox;
  /** Decisions whose approver is being checked, by their id. */
  readonly authorizing: ReadonlyMap<string, Decision>;
  /** The definitions that activities wait for because workers lack them. Absent if no activity waits for another worker. */
  readonly missing?: readonly Missing[];
  /** The input of a program, and its document if it is part of the input. Present in the first execution of its run. */
  readonly programInput?: NonNullable<StepValuesAnswer['program']>;
  /** The agent that came with the input of the run. Present in its first execution. */
  readonly document?: AgentDocument;
  /** The text of the input of the run. Present in its first execution. */
  readonly input?: string;
  /** Whom the run acts for. Present in its first execution. */
  readonly principal?: Principal;
  /** Undefined until the agent is resolved, like the state. */
  readonly snapshot?: AgentSnapshot;
  readonly state?: RunState;
  /** Present once the run has ended and has a `notifyEnded` hook. */
  readonly result?: RunResultFields;
}
