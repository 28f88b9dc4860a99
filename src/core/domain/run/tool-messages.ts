import type { SpilledContent } from '../content/content.ts';
import type { ContextOperation } from '../record/context-update.ts';
import type { JsonObject, JsonValue } from '../json/json.ts';
import type { AggregatedUsage } from '../model/usage.ts';
import type { WorkerWait } from '../errors/worker-wait.ts';

/** Input of every activity of a run. */
export interface OfRun {
  /** The key of a run inside a workflow of the user, where the run is not the workflow itself. */
  run?: string;
  /** A worker that took it before lacked something: how it is tried on others. */
  awaitsWorker?: WorkerWait;
}

/** Deps and state of a run as an activity is given them: in its input, or by reference. */
export interface GivenData {
  deps?: JsonObject;
  /** Present only where the run has state. */
  state?: JsonObject;
  /** They are too large for the input: ask the run. */
  dataByReference?: true;
}

/** Input of a tool's activity. `arguments` and `deps` are here up to 1 kB each, for who reads the Temporal UI; larger ones go by reference. */
export interface RunToolInput extends OfRun, GivenData {
  agentName: string;
  callId: string;
  step: number;
  /** Where the call is: offset of the event and place in its content. */
  at: [offset: number, index: number];
  /** The id of that event. */
  eventId: string;
  arguments?: JsonObject;
  /** Milliseconds that one attempt may take. Absent in what older workflows scheduled: what the server was told. */
  timeoutMs?: number;
  /** The call happens once, as it is pinned for its run: the tool of a later build may say otherwise. */
  once?: true;
  /** The tool is one of an MCP server. `once`: its calls happen once. */
  mcp?: { server: string; tool: string; once?: true };
  /** What the run has used up to the response that asks for the call. */
  usage?: GivenUsage;
  /** The arguments are other than the model's, and too large for the input: ask the run. */
  argumentsByReference?: true;
}

/** What a tool is told of the tokens that its run has used. */
export type CallUsage = Pick<AggregatedUsage, 'promptTokens' | 'completionTokens' | 'totalTokens' | 'llmCalls'>;

/** The same in the input of its activity, where every byte is stored once more: the total is left out where it is the sum. */
export type GivenUsage = Omit<CallUsage, 'totalTokens'> & { totalTokens?: number };

/** Input of `verifyCall`: that of the call, and the name of its tool. */
export interface VerifyCallInput extends RunToolInput {
  tool: string;
}

/** Result of `verifyCall`. */
export type VerifyCallOutput = { happened: true; output: RunToolOutput } | { happened: false; tool: string };

/** Input of `askTerms`. */
export interface AskTermsInput extends OfRun, GivenData {
  /** Digest of the snapshot. */
  agent: string;
  callId: string;
  tool: string;
  at: [offset: number, index: number];
  eventId: string;
}

/** Result of a tool's activity. */
export interface RunToolOutput {
  /** The id of this result in the transcript caches. */
  id: string;
  content: JsonValue[];
  isError?: true;
  /** Where the whole content is, where `content` is its preview. */
  spilled?: SpilledContent;
  durationMs: number;
  state?: JsonObject;
  /** What the call changes of the deps. */
  contextUpdate?: ContextOperation[];
  /** The tool asks the model to try again. */
  asksRetry?: true;
  /** The call has begun to act, and nobody knows what came of it: for a tool whose effect happens once. */
  lost?: true;
  /** Of such a call: how its answer was lost. */
  reason?: string;
  /** Of a local call, whose input is in no history: where it is. */
  at?: [offset: number, index: number];
}
