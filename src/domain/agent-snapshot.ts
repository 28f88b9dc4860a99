import type { WindowPolicy } from './compaction.ts';
import type { ContinueAsNewThresholds } from './continue-as-new.ts';
import type { JsonObject } from './json.ts';

/** What a model is told about a tool. `parameters` is the JSON Schema sent to the provider. */
export interface ToolDescription {
  name: string;
  description: string;
  parameters: JsonObject;
  /** The provider is asked to enforce the schema. */
  strict: boolean;
}

/** A tool as it is pinned for a run: its description and its policy. */
export interface ToolSnapshot extends ToolDescription {
  /** The schema that arguments are checked against. Differs from `parameters` where the provider's subset is narrower. */
  schema: JsonObject;
  /** False: its calls never overlap with another call of the same response. */
  parallel: boolean;
  /** Milliseconds that one attempt may take. */
  timeoutMs: number;
  /** Attempts in all, the first one included. */
  maxAttempts: number;
  /** Bytes of JSON that one result may have: what the run plans with. Absent in snapshots of runs that began before there was one. */
  maxResultBytes?: number;
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

/** The limits of a run. */
export interface RunLimits {
  /** Steps. The default is 10. */
  maxIterations: number;
  /** After the last step, ask once more for a final answer, without tools. The status stays `max_iterations_reached`. */
  finalAttempt: boolean;
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
  limits: RunLimits;
  timing: ActivityTiming;
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
  /** The start of a SHA-256 over the canonical JSON of all other fields, in base64url. */
  digest: string;
}
