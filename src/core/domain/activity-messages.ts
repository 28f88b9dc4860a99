import type { AgentDocument, AgentSnapshot, PinnedSkill } from './agent.ts';
import type { ApprovalRequirement } from './approvals.ts';
import type { SpilledContent, ToolCall } from './content.ts';
import type { ContextOperation } from './deps.ts';
import type { CodeCallResult, CodeJournal, Moment } from './execution.ts';
import type { JsonObject, JsonValue } from './json.ts';
import type { WorkerWait } from './missing-definitions.ts';
import type { ActivityNotes, CallReview, ToolInputParts } from './parts.ts';
import type { Principal } from './run.ts';
import type { AggregatedUsage, Spent, UsageStats } from './usage.ts';

/** The part of the input that all activities of a run share. */
export interface OfRun {
  /** The key of a run inside a user's workflow. Absent if the run is the workflow itself. */
  run?: string;
  /** Instructions for trying other workers. Present if an earlier worker lacked a definition. */
  awaitsWorker?: WorkerWait;
}

/** Deps and state of a run in the input of an activity, or a flag that makes the activity query them. */
export interface DataInput {
  deps?: JsonObject;
  /** Absent if the run has no state. */
  state?: JsonObject;
  /** Both are too large for the input: the activity queries them from the run. */
  dataByReference?: true;
  /**
   * The identity on whose behalf the run acts, or `true` if the activity must query it unless its worker knows it. Absent: no principal.
   */
  principal?: Principal | true;
}

/** Answer of the `data` query. */
export interface DataView {
  deps: JsonObject;
  state: JsonObject;
  /** The identity on whose behalf the run acts. */
  principal?: Principal;
  /** The answer that is being checked before it counts. */
  answer?: JsonValue;
  /** The agent that came with the run's input, until it is resolved. */
  document?: AgentDocument;
  /** The text of the run's input, until its agent is resolved. */
  input?: string;
}

/**
 * Input of a tool's activity. `arguments` and `deps` of up to 1 kB are included so that the Temporal UI shows them; larger values are
 * passed by reference.
 */
export interface RunToolInput extends OfRun, DataInput, ToolInputParts {
  agentName: string;
  /** The tool is one of the worker's tools for programs: `agentName` is the name of the program or step, and no agent has the tool. */
  ofProgram?: true;
  callId: string;
  step: number;
  /** The position of the call: offset of its event, and index in the content of the event. */
  at: [offset: number, index: number];
  /** The id of the event of the call. */
  eventId: string;
  /** The result of a local call is identified by its call id instead of its position, which may differ on read-back of a program. */
  byId?: true;
  arguments?: JsonObject;
  /** Milliseconds that one attempt may take. */
  timeoutMs: number;
  /** The effect pinned for the run is `once`, even if a later build gives the tool another effect. */
  once?: true;
  /** For a tool of an MCP server. `once`: its effect is `once`. */
  mcp?: { server: string; tool: string; once?: true };
  /** For a tool that reads skills: the content that the run is pinned to. Empty if the agent has no skill with that name. */
  skill?: Partial<PinnedSkill>;
  /** For a tool that uses the agent's memory: the name of the memory, if it differs from the agent's name. */
  memory?: { name?: string };
  /** The usage of the run up to and including the response with the call. */
  usage?: UsageInput;
  /** The arguments differ from the model's and are too large for the input: the activity queries the run for them. */
  argumentsByReference?: true;
  /** The result must include its time, because it may be recorded before other results of its response. */
  timed?: true;
}

/** The usage of a run as its tools see it. */
export type CallUsage = Pick<AggregatedUsage, 'promptTokens' | 'completionTokens' | 'totalTokens' | 'llmCalls'>;

/**
 * The same in the input of the tool's activity. The total is left out if it is the sum of the others, because every byte is stored again.
 */
type UsageInput = Omit<CallUsage, 'totalTokens'> & { totalTokens?: number };

/** Result of a tool's activity. */
export interface RunToolOutput extends ActivityNotes {
  /** The id of this result in the caches of transcripts. */
  id: string;
  content: JsonValue[];
  isError?: true;
  /** The location of the whole content, if `content` is only its preview. */
  spilled?: SpilledContent;
  /** The texts about the call that the model reads after the result. */
  notes?: string[];
  durationMs: number;
  /** The time of the result by its worker's clock, in milliseconds since the epoch, if the input requests it. */
  endedAt?: number;
  state?: JsonObject;
  /** The call's changes of deps. */
  contextUpdate?: ContextOperation[];
  /** The tool asks the model to try again. */
  asksRetry?: true;
  /** The time of the last attempt was up. */
  timedOut?: 'attempt';
  /** The outcome of a call with the effect `once` is unknown, because the call has begun to act. */
  lost?: true;
  /** For such a call: how its answer was lost. */
  reason?: string;
  /** For a local call of an agent, whose input is not in the history: its position. */
  at?: [offset: number, index: number];
  /** For a local call of a program: its id. */
  callId?: string;
}

/**
 * Returns the step of an activity, read from the input of a tool call or from the beginning of a model call's summary. Undefined for other
 * activities, and if a codec hides both.
 */
export function activityStep(summary: unknown, input: unknown): number | undefined {
  if (typeof input === 'object' && input !== null && 'callId' in input && 'step' in input && typeof input.step === 'number')
    return input.step;
  const [, step] = /^step (\d+)\b/.exec(typeof summary === 'string' ? summary : '') ?? [];
  return step === undefined ? undefined : Number(step);
}

/** The outcome of a review of calls: all problems, all required decisions, and new findings. */
export interface ReviewedCalls extends CallReview {
  approvals?: Record<string, ApprovalRequirement>;
}

/** Input of `runCode`: one segment of a cell. */
export interface RunSegmentInput extends OfRun, DataInput {
  agentName: string;
  /** Digest of the snapshot. */
  agent: string;
  /** The id of the model's call of `run_code`, the offset and the id of its event, and its index in the content. */
  callId: string;
  at: [offset: number, index: number];
  eventId: string;
  /** The number of the step. 1-based. */
  step: number;
  /** The number of earlier cells in the journal. */
  cell: number;
  /** The number of earlier segments of this cell. */
  segment: number;
  /** The digest of the previous segment of any cell, or the SHA-256 of a later checkpoint. Absent: the namespace is empty. */
  after?: string;
  /** The number of calls made by earlier segments. */
  calls: number;
  /** The milliseconds that earlier segments took. */
  spentMs: number;
  moment: Moment;
  /** A checkpoint is requested after the cell, because the journal is large. */
  checkpoint?: true;
  /** Absent: the activity must query the journal. */
  code?: string;
  /** The results of the previous segment's calls. Absent for the first segment, and if the activity must query the journal. */
  results?: CodeCallResult[];
  /** For a local activity whose worker lacks the namespace: everything needed to run the cells again. */
  whole?: { snapshot: AgentSnapshot; journal: CodeJournal };
}

/** Result of `runCode`. A local activity includes its position, because its input is not in the history. */
export type RunSegmentOutput = { at?: [offset: number, index: number]; segment?: number } & (
  | { type: 'cold' }
  | ({
      type: 'calls';
      /** Their ids are derived from the call of `run_code` and from their numbers. */
      calls: Pick<ToolCall, 'name' | 'arguments'>[];
      digest: string;
      durationMs: number;
    } & ReviewedCalls)
  | {
      type: 'ended';
      /** The id of the result. */
      id: string;
      /** The result that the model reads. */
      content: JsonValue[];
      isError?: true;
      /** The final answer of the cell. */
      final?: { value: JsonValue };
      /** Keys to set in the run's state. */
      state?: Record<string, JsonValue>;
      /** Absent: the cell was killed, or exceeded its time or memory, and is not part of the namespace. */
      digest?: string;
      /** The namespace is lost: the journal starts over with this cell, or after it. */
      isLost?: true;
      /** The namespace after the cell, in the payload store: the journal starts over after it. */
      checkpoint?: SpilledContent;
      durationMs: number;
    }
);

/** A request for a part of the journal, in pages of JSON text. */
export interface JournalQuestion {
  /** The number of characters that are already known. */
  from: number;
  /** The index of one cell. Absent: the whole journal. */
  cell?: number;
  /** The index of a segment of that cell, if only the results of its calls are needed. */
  segment?: number;
}

/** One page of the JSON text. */
export interface JournalPage {
  text: string;
  total: number;
}

/** The summary of a part of the window. */
export interface Summary extends ActivityNotes {
  /** The id of the summary's event. */
  id: string;
  text: string;
  usage: UsageStats | null;
  /** The cost of earlier failed attempts. */
  failedAttempts?: Spent;
  /** The model that answered, unless it is the agent's first model. */
  answeredBy?: string;
}
