import type { ApprovalDeadline, ApprovalPolicy } from '../approvals/approval.ts';
import type { WindowPolicy } from './compaction.ts';
import type { ContinueAsNewThresholds } from '../run/continue-as-new.ts';
import type { JsonObject } from '../json/json.ts';
import type { RunLimits } from './limits.ts';
import type { ModelPrice } from '../model/price.ts';
import type { ToolPolicy } from './tool-policy.ts';

/** What a model is told about a tool. `parameters` is the JSON Schema sent to the provider. */
export interface ToolDescription {
  name: string;
  description: string;
  parameters: JsonObject;
  /** The provider is asked to enforce the schema. */
  strict: boolean;
}

/** A tool as it is pinned for a run: its description and its policy. */
export interface ToolSnapshot extends ToolDescription, ToolPolicy {
  /** The schema that arguments are checked against. Differs from `parameters` where the provider's subset is narrower. */
  schema: JsonObject;
  /** False: its calls never overlap with another call of the same response. */
  parallel: boolean;
  /** Bytes of JSON that one result may have: what the run plans with. Absent in snapshots of runs that began before there was one. */
  maxResultBytes?: number;
  /** When its calls wait for a decision. Absent: never. */
  approval?: ApprovalPolicy;
  /** The tool is one of an MCP server of the agent: the name of the server, and what the server calls it. */
  mcp?: { server: string; tool: string };
  /** The tool is a question to a person, whose answer must fit this schema: it is responded to, and never runs. */
  answer?: JsonObject;
}

/** How the model is asked. Every field is optional: what is left out is the provider's default. */
export interface ModelSettings {
  temperature?: number;
  maxOutputTokens?: number;
  /** `auto`, `required`, `none`, or the name of one tool. */
  toolChoice?: 'auto' | 'required' | 'none' | { tool: string };
  parallelToolCalls?: boolean;
  reasoningEffort?: string;
  /** Passed to the provider as they are. */
  extra?: JsonObject;
}

/** How a structured answer is obtained and checked. */
export interface OutputSnapshot {
  /** `schema`: the provider enforces it. `final_answer`: the model calls a tool of that name. */
  mode: 'schema' | 'final_answer';
  /** What the answer is checked against. */
  schema: JsonObject;
  /** What the provider is sent. */
  providerSchema: JsonObject;
  strict: boolean;
  /** How often an answer that does not fit is sent back to the model before the run ends with an error. */
  maxRetries: number;
}

/** How activities of the run are timed: recorded, because the workflow schedules by it. */
export interface ActivityTiming {
  /** Milliseconds between two heartbeats: the time after which a cancellation reaches another process. */
  heartbeatMs: number;
  /** Milliseconds that one attempt of a model call may take. */
  modelTimeoutMs: number;
  /** Attempts of a model call in all, the first one included. */
  modelMaxAttempts: number;
}

/** The agent as plain JSON, resolved by the run's first activity and pinned for the whole run. */
export interface AgentSnapshot {
  version: 1;
  name: string;
  instructions: string[];
  /** `provider/model`. */
  model: string;
  tools: ToolSnapshot[];
  /** False: the calls of one response run one after the other. */
  parallel: boolean;
  settings: ModelSettings;
  output?: OutputSnapshot;
  /** The schema of deps, where the agent has one: what an update is checked against. */
  deps?: JsonObject;
  /** A person is asked what became of a call of which nobody knows. Absent: the model is told. */
  onUnknownOutcome?: 'ask';
  limits: RunLimits;
  timing: ActivityTiming;
  /** The deadline of what waits for a decision where the tool does not say. */
  approvals?: ApprovalDeadline;
  /** The worker checks who decides. */
  authorize?: true;
  /** The worker tells somebody when something waits. */
  notify?: true;
  /** The worker tells somebody when the run has ended. */
  notifyEnded?: true;
  /** By `provider/model`, as far as they are known: of the model, and of the one that summarises. */
  prices?: Record<string, ModelPrice>;
  /** Absent in snapshots of runs that began before there was one: their window is not bounded. */
  window?: WindowPolicy;
  /** Absent: the defaults. */
  continueAsNew?: ContinueAsNewThresholds;
  /** The worker was tied to a build that runs leave where they continue as new, for the current one. */
  upgradeOnContinueAsNew?: true;
  /** The worker has an archive: events are handed to it as the run leaves them behind. */
  archive?: boolean;
  /** The namespace has the search attributes; upserting one that is missing would block the run. */
  searchAttributes: boolean;
  /** The namespace has the search attribute for what a run waits for, too. */
  waitingForAttribute?: true;
  /** The words that the run was started with. Absent: none. */
  tags?: string[];
  /** The run has tags, and the namespace the search attribute for them. */
  tagAttribute?: true;
  /** The start of a SHA-256 over the canonical JSON of all other fields, in base64url. */
  digest: string;
}
