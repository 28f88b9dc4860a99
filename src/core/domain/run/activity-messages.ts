import type { PinnedSkill } from '../skills/skill-snapshot.ts';
import type { AgentDocument } from '../agent/agent-document.ts';
import type { HookRecord } from '../hooks/hook-record.ts';
import type { HookSnapshot } from '../hooks/hook-snapshot.ts';
import type { SpilledContent } from '../content/content.ts';
import type { ContextOperation } from '../record/context-update.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { AggregatedUsage } from '../model/usage.ts';
import type { WorkerWait } from '../errors/worker-wait.ts';
import type { Principal } from './principal.ts';
import type { TerminalStatus } from './status.ts';

/** The part of the input that every activity of a run has. */
export interface OfRun {
  /** The key of a run inside a workflow of the user. Absent if the run is the workflow itself. */
  run?: string;
  /** Instructions for trying it on other workers. Present if a worker that took it before lacked a definition. */
  awaitsWorker?: WorkerWait;
}

/** Deps and state of a run in the input of an activity, or a mark that the activity must query them. */
export interface DataInput {
  deps?: JsonObject;
  /** Absent if the run has no state. */
  state?: JsonObject;
  /** Both are too large for the input: the activity queries them from the run. */
  dataByReference?: true;
  /** Whom the run acts for. `true`: the activity queries it, unless its worker knows it. Absent: the run has no principal. */
  principal?: Principal | true;
}

/** Answer of the `data` query. */
export interface DataView {
  deps: JsonObject;
  state: JsonObject;
  /** Whom the run acts for. */
  principal?: Principal;
  /** The answer that guardrails check. */
  answer?: JsonValue;
  /** The agent that came with the input of the run, until it is resolved. */
  document?: AgentDocument;
  /** The text of the input of the run, until its agent is resolved. */
  input?: string;
}

/**
 * Input of a tool's activity. `arguments` and `deps` of up to 1 kB are included, so that the Temporal UI shows them; larger ones go
 * by reference.
 */
export interface RunToolInput extends OfRun, DataInput {
  agentName: string;
  /** The tool is one that the worker has for programs, and `agentName` that of a program or of a step: no agent has it. */
  ofProgram?: true;
  callId: string;
  step: number;
  /** The position of the call: offset of its event, and index in the content of the event. */
  at: [offset: number, index: number];
  /** The id of the event of the call. */
  eventId: string;
  /** The result of a local call has the id of the call instead of its position, which in a program may be another on read-back. */
  byId?: true;
  arguments?: JsonObject;
  /** Milliseconds that one attempt may take. */
  timeoutMs: number;
  /** The effect pinned for the run is `once`. The tool of a later build may have another effect. */
  once?: true;
  /** For a tool of an MCP server. `once`: its effect is `once`. */
  mcp?: { server: string; tool: string; once?: true };
  /** For a tool that reads skills: the content that the run is pinned to. Empty if the agent has no skill of that name. */
  skill?: Partial<PinnedSkill>;
  /** For a tool that uses the memory of the agent: the name of the memory, if it is not that of the agent. */
  memory?: { name?: string };
  /** The usage of the run up to and including the response with the call. */
  usage?: UsageInput;
  /** The arguments differ from the model's and are too large for the input: the activity queries them from the run. */
  argumentsByReference?: true;
  /** The hooks for its result. */
  hooks?: HookSnapshot[];
}

/** The usage of a run as its tools see it. */
export type CallUsage = Pick<AggregatedUsage, 'promptTokens' | 'completionTokens' | 'totalTokens' | 'llmCalls'>;

/**
 * The same in the input of the tool's activity. The total is left out if it is the sum of the others, because every byte is stored
 * again.
 */
export type UsageInput = Omit<CallUsage, 'totalTokens'> & { totalTokens?: number };

/** Input of `verifyCall`: the input of the call, and the name of its tool. */
export interface VerifyCallInput extends RunToolInput {
  tool: string;
}

/** Result of `verifyCall`. */
export type VerifyCallOutput = { happened: true; output: RunToolOutput } | { happened: false; tool: string };

/** Input of `askTerms`. */
export interface AskTermsInput extends OfRun, DataInput {
  /** Digest of the snapshot. */
  agent: string;
  callId: string;
  tool: string;
  at: [offset: number, index: number];
  eventId: string;
  /** A hook rewrote the arguments: the activity queries them from the run. */
  rewritten?: true;
}

/** Result of a tool's activity. */
export interface RunToolOutput {
  /** The id of this result in the caches of transcripts. */
  id: string;
  content: JsonValue[];
  isError?: true;
  /** The location of the whole content, if `content` is only its preview. */
  spilled?: SpilledContent;
  durationMs: number;
  state?: JsonObject;
  /** The changes of deps by the call. */
  contextUpdate?: ContextOperation[];
  /** The tool asks the model to try again. */
  asksRetry?: true;
  /** The answers of hooks about the result. */
  hooks?: HookRecord[];
  /** The outcome of a call with the effect `once` is unknown, because it has begun to act. */
  lost?: true;
  /** For such a call: the way in which its answer was lost. */
  reason?: string;
  /** For a local call of an agent, whose input is not in the history: its position. */
  at?: [offset: number, index: number];
  /** For a local call of a program: its id. */
  callId?: string;
}

/** Input of `notifyEnded`. It does not hold the result: the activity queries it from the run. */
export interface NotifyEndedInput extends OfRun {
  agentName: string;
  status: TerminalStatus;
}

/** Input of `archiveEvents`: the events from `from` up to, but not including, `through`. */
export interface ArchiveEventsInput extends OfRun {
  from: number;
  through: number;
}
