import type { ApprovalDeadline, ApprovalPolicy } from '../approvals/approval.ts';
import type { CodeSnapshot } from '../code/code-snapshot.ts';
import type { HookRecord } from '../hooks/hook-record.ts';
import type { HookSnapshot } from '../hooks/hook-snapshot.ts';
import type { WindowPolicy } from './compaction.ts';
import type { FlowPolicy } from '../flows/flow-policy.ts';
import type { HandoffPolicy } from '../handoffs/handoff-policy.ts';
import type { ContinueAsNewThresholds } from '../run/continue-as-new.ts';
import type { GuardrailSnapshot } from '../guardrails/guardrail.ts';
import type { JsonObject } from '../json/json.ts';
import type { LimitChanges, RunLimits } from './limits.ts';
import type { MemoryPolicy } from '../memory/memory-policy.ts';
import type { ModelPrice } from '../model/price.ts';
import type { Permissions, ToolCategory } from '../permissions/permissions.ts';
import type { ProgramDocument } from '../program/document.ts';
import type { AnswerRules } from '../program/answer-rules.ts';
import type { AgentOfTool } from '../children/agent-tool.ts';
import type { ChildrenOptions } from '../children/tree-limits.ts';
import type { SkillSnapshot } from '../skills/skill-snapshot.ts';
import type { ToolPolicy } from './tool-policy.ts';

/** The description of a tool that the model receives. `parameters` is the JSON Schema sent to the provider. */
export interface ToolDescription {
  name: string;
  description: string;
  parameters: JsonObject;
  /** True: the provider is asked to enforce the schema. */
  strict: boolean;
}

/** A tool as it is pinned for a run: its description and its policy. */
export interface ToolSnapshot extends ToolDescription, ToolPolicy {
  /** The text that the summaries of its calls begin with. Absent: they begin with the arguments. */
  label?: string;
  /** The version that the records of its calls have. Absent: it has none. */
  version?: string;
  /** The schema that arguments are checked against. Differs from `parameters` if the provider supports only a part of it. */
  schema: JsonObject;
  /** False: its calls never overlap with another call of the same response. */
  parallel: boolean;
  /** What its calls change of deps and state: true for anything, a list of keys, false for nothing. Absent: not known. */
  updates?: boolean | string[];
  /** Bytes of JSON that one result may have: the run reserves room for them. Absent in the tools of a run itself: the default. */
  maxResultBytes?: number;
  /** The condition under which its calls wait for a decision. Absent: they never wait. */
  approval?: ApprovalPolicy;
  /** For a tool of an MCP server of the agent: the name of the server, and the server's own name of the tool. */
  mcp?: { server: string; tool: string };
  /** For a tool that asks a person: the schema of the answer. Such a call is answered by a decision and never runs. */
  answer?: JsonObject;
  /** For an agent with code: the schema of the value that it returns, which code reads in its signature. Absent: not known. */
  result?: JsonObject;
  /** The callers that may call it. Absent: the model and code. */
  callers?: ToolCaller[];
  /** The kind of effect that it has, for rules of permissions. */
  category?: ToolCategory;
  /** The tool is a schema alone: a call of it is answered at once with an error result, and never runs. */
  notExecutable?: true;
  /** Its calls hand the run over to another agent. */
  handoff?: true;
  /** Its calls read a skill of the agent. */
  ofSkills?: true;
  /** Its calls use the memory of the agent. */
  ofMemory?: true;
  /** For an agent as a tool: each call is a child run of it. */
  agent?: AgentOfTool;
}

/** A caller of tools. */
export type ToolCaller = 'model' | 'code';

/** `code`: the answer is one cell in a fenced block. `json`: it is an object with `tool` and `arguments`, or with `answer`. */
export type ReplyFormat = 'code' | 'json';

/** The choice of tools that an agent makes for its model. */
export type ToolChoice = PlainToolChoice | { required: true; every?: boolean } | { tool: string; every?: boolean };

/** The choice of tools in one model call. */
export type PlainToolChoice = 'auto' | 'required' | 'none' | { tool: string };

/** The settings of a model call. Each one defaults to that of the provider. */
export interface ModelSettings {
  temperature?: number;
  maxOutputTokens?: number;
  /**
   * `auto` (default): the model may call tools. `none`: it may not. `required`, or `{ tool }`: it must call a tool, or this one, in the
   * first step of a turn, and may in the others; with `every: true` it must in every step, and never answers with text.
   */
  toolChoice?: ToolChoice;
  parallelToolCalls?: boolean;
  reasoningEffort?: string;
  /**
   * What a `<think>` block at the very beginning of an answer is: `reasoning` (default) is streamed as such and is no part of the
   * answer; `text` is.
   */
  thinkTags?: 'reasoning' | 'text';
  /** Further settings, passed to the provider unchanged. */
  extra?: JsonObject;
}

/** The way in which a structured answer is obtained and checked. */
export interface OutputSnapshot {
  /** `schema`: the provider enforces it. `final_answer`: the model calls a tool of that name. */
  mode: 'schema' | 'final_answer';
  /** The schema that the answer is checked against. */
  schema: JsonObject;
  /** The schema that the provider is sent. */
  providerSchema: JsonObject;
  strict: boolean;
  /** The number of times that an answer which does not fit is sent back to the model before the run ends with an error. */
  maxRetries: number;
}

/** The patience of an agent that sets none: ten minutes. */
export const DEFAULT_PATIENCE_MS = 600_000;

/** The timing of the run's activities. It is recorded because the workflow schedules by it. */
export interface ActivityTiming {
  /** Milliseconds between two heartbeats, which is also the delay until a cancellation reaches another process. */
  heartbeatMs: number;
  /** Milliseconds that one attempt of a model call may take. */
  modelTimeoutMs: number;
  /** All attempts of a model call, including the first one, and without those that the provider refused (429, 5xx). */
  modelMaxAttempts: number;
  /** Milliseconds for which a model call that the provider refuses is tried again; with 0, refusals count as attempts. Absent: 10 minutes. */
  modelPatienceMs?: number;
  /** Milliseconds between two checks that a child is alive which cannot tell of its end. Absent for agents that start no runs. */
  childCheckMs?: number;
}

/** The limits that a child has of its own. A final attempt counts as a step. */
export type OwnLimits = LimitChanges & Pick<RunLimits, 'onLimit'>;

/** The limits of agents and programs, by their name. */
export interface ChildLimits {
  agents: Record<string, OwnLimits>;
  programs: Record<string, OwnLimits>;
}

/** The agent as plain JSON, resolved by the run's first activity and pinned for the whole run. */
export interface AgentSnapshot {
  version: 1;
  name: string;
  /** Describes the agent, for the document of a saved context. Absent: it has no description. */
  description?: string;
  instructions: string[];
  /** `provider/model`. */
  model: string;
  tools: ToolSnapshot[];
  /** False: the calls of one response run one after the other. */
  parallel: boolean;
  settings: ModelSettings;
  output?: OutputSnapshot;
  /** The checks of the answer, if the agent is an `ask` with tools. */
  checks?: AnswerRules;
  /** The way in which the agent runs code. Absent: it runs none. */
  code?: CodeSnapshot;
  /** The form of the model's answers. Absent: text and tool calls. */
  replyFormat?: ReplyFormat;
  /** The agents that it may hand the run over to. Absent: none. */
  handoffs?: HandoffPolicy;
  /** The flow that the run begins with. Absent: the run is that of one agent, and those that it hands over to. */
  flow?: FlowPolicy;
  /** The guardrails, in the order of the definition. Absent: none. */
  guardrails?: GuardrailSnapshot[];
  /** The schema of deps, which each update is checked against. Absent: deps are not checked. */
  deps?: JsonObject;
  /** A person is asked about the outcome of a call whose result was lost. Absent: the model is told that it is unknown. */
  onUnknownOutcome?: 'ask';
  limits: RunLimits;
  /** The limits of the runs below. Absent: the agent starts none, or has the defaults. */
  children?: ChildrenOptions;
  timing: ActivityTiming;
  /** The policies that every call must pass: first those of the agent, then those of the start and of the runs above. Absent: none. */
  permissions?: Permissions[];
  /** The skills of the agent, those with the lowest priority first. Absent: none. */
  skills?: SkillSnapshot[];
  /** The way in which the agent uses the memory of its worker. Absent: it does not. */
  memory?: MemoryPolicy;
  /** The hooks of the run, by name and event. Absent: none. */
  hooks?: HookSnapshot[];
  /** The answers of the hooks at `session_start` that were not a plain allow. */
  hookRecords?: HookRecord[];
  /** The deadline for decisions about tools that set none. */
  approvals?: ApprovalDeadline;
  /** The worker checks that an approver may decide. */
  authorize?: true;
  /** The worker calls its `notify` hook for every call that waits for a decision. */
  notify?: true;
  /** The worker calls its `notifyEnded` hook when the run has ended. */
  notifyEnded?: true;
  /** By `provider/model`: the known prices of the model and of the model that summarises. */
  prices?: Record<string, ModelPrice>;
  /** Absent in the snapshot of a program: it has no conversation. */
  window?: WindowPolicy;
  /** Absent: the defaults. */
  continueAsNew?: ContinueAsNewThresholds;
  /** The worker is pinned to a build: the run moves to the current build when it continues as new. */
  upgradeOnContinueAsNew?: true;
  /** The run was started with `live: true`: its stream may travel in heartbeats. */
  live?: true;
  /** The worker has an archive: the events of an execution are written to it before the execution ends. */
  archive?: boolean;
  /** The namespace has the search attributes. Upserting a missing one would block the run. */
  searchAttributes: boolean;
  /** The namespace also has the search attribute that names the tools a run waits for. */
  waitingForAttribute?: true;
  /** The tags that the run was started with. Absent: none. */
  tags?: string[];
  /** The run has tags, and the namespace has the search attribute for them. */
  tagAttribute?: true;
  /** The document, if the run is that of a program. Its other fields are then those that every step of it shares. */
  program?: ProgramDocument;
  /** The limits of the agents and programs that steps of the program run, by their name. Absent: the run shares no limit with them. */
  childLimits?: ChildLimits;
  /** The beginning of the SHA-256 of the canonical JSON of all other fields, in base64url. */
  digest: string;
}
