import type { ApprovalDeadline, ApprovalPolicy } from './approvals.ts';
import { jsonBytes } from './byte-budgets.ts';
import type { CodeSnapshot } from './code.ts';
import { bytesBeyondText, type ContentItem, type HostedTool, type SpilledContent } from './content.ts';
import type { FallbackPolicy } from './fallback.ts';
import type { GuardrailSnapshot } from './guardrails.ts';
import { canonicalJson, type JsonObject } from './json.ts';
import type { ChildrenOptions, LimitChanges, RunLimits } from './limits.ts';
import type { SnapshotParts } from './parts.ts';
import { ANSWER_RULES, type AnswerRules, type ProgramDocument } from './program-document.ts';
import { REASONING_EFFORTS } from './reasoning-effort.ts';
import type { ContinueAsNewThresholds } from './run.ts';
import * as s from './shape.ts';
import type { ToolCategory } from './tool-categories.ts';
import type { ModelPrice } from './usage.ts';
import type { Window } from './window.ts';

/** The description of a tool that the model receives. `parameters` is the JSON Schema sent to the provider. */
export interface ToolDescription {
  /** The name that the model calls. */
  name: string;
  /** The tool's description for the model: what it does, and when to call it. */
  description: string;
  /** The JSON Schema of the arguments. */
  parameters: JsonObject;
  /** True: the provider is asked to enforce the schema. */
  strict: boolean;
}

/** A tool as pinned for a run: its description and its policy. */
export interface ToolSnapshot extends ToolDescription, ToolPolicy {
  /** The text at the beginning of its calls' summaries. Absent: they begin with the arguments. */
  label?: string;
  /** The version in the records of its calls. Absent: it has no version. */
  version?: string;
  /** The capability that provides it. Absent: the agent defines it itself. */
  capability?: string;
  /** The schema used to check arguments. Differs from `parameters` if the provider supports only a part of it. */
  schema: JsonObject;
  /**
   * Its own schema may change arguments: it has defaults, or trims a text. They are parsed before anything decides about a call. Absent: the
   * arguments are the ones that it runs with.
   */
  changesArguments?: true;
  /** False: its calls never overlap with another call of the same response. */
  parallel: boolean;
  /** The parts of deps and state that its calls change: true for anything, a list of keys, false for nothing. Absent: unknown. */
  updates?: boolean | string[];
  /** Maximum bytes of JSON of one result: the run reserves room for them. Absent in the tools of a run itself: the default. */
  maxResultBytes?: number;
  /** The condition under which its calls wait for a decision. Absent: they never wait. */
  approval?: ApprovalPolicy;
  /** For a tool of an MCP server of the agent: the name of the server, and the server's own name of the tool. */
  mcp?: { server: string; tool: string };
  /** For a tool that asks a person: the schema of the answer. A decision answers such a call, and it never runs. */
  answer?: JsonObject;
  /** For an agent with code: the schema of the return value, shown to code in the signature. Absent: unknown. */
  result?: JsonObject;
  /** The callers that may call it. Absent: both the model and code. */
  callers?: ToolCaller[];
  /** The kind of its effect, for rules about calls. */
  category?: ToolCategory;
  /** The tool is only a schema: a call is answered at once with an error result, and never runs. */
  notExecutable?: true;
  /** Its calls hand the run over to another agent. */
  handoff?: true;
  /** Its calls read a skill of the agent. */
  ofSkills?: true;
  /** Its calls use the memory of the agent. */
  ofMemory?: true;
  /** For an agent as a tool: each call runs the agent as a child. */
  agent?: AgentOfTool;
}

/** True for a tool implemented by a function of the user. */
export function isOfUser({ mcp, agent, handoff, ofSkills, ofMemory, answer }: ToolSnapshot): boolean {
  return [mcp, agent, handoff, ofSkills, ofMemory, answer].every((kind) => kind === undefined);
}

/** A caller of tools. */
export type ToolCaller = 'model' | 'code';

/** `code`: the answer is one cell in a fenced block. `json`: it is an object with `tool` and `arguments`, or with `answer`. */
export type ReplyFormat = 'code' | 'json';

const TOOL_CHOICE = s.either(
  s.oneOf('auto', 'required', 'none'),
  s.closedObject({ tool: s.boundedText({ minLength: 1 }), every: s.optional(s.FLAG) }),
  s.closedObject({ required: s.TRUE, every: s.optional(s.FLAG) }),
);

/** The tool choice that an agent sets for its model. @useDeclaredType */
export type ToolChoice = s.ValueOf<typeof TOOL_CHOICE>;

/** The tool choice of one model call. */
export type PlainToolChoice = 'auto' | 'required' | 'none' | { tool: string };

const SETTINGS_MEMBERS = {
  /** How freely the model chooses its words: 0 to 2. */
  temperature: s.optional(s.boundedNumber({ minimum: 0, maximum: 2 })),
  /** The maximum tokens of an answer. */
  maxOutputTokens: s.optional(s.AT_LEAST_ONE),
  /**
   * `auto` (default): the model may call tools. `none`: it must not. `required` or `{ tool }`: it must call any tool, or this tool, in the
   * first step of a turn, and may in later steps. With `every: true`, it must call one in every step, and never answers with text.
   */
  toolChoice: s.optional(TOOL_CHOICE),
  /** False: the model makes at most one call in an answer. */
  parallelToolCalls: s.optional(s.FLAG),
  /** How much the model thinks before it answers. A provider with other levels, or without any, says so in a warning. */
  reasoningEffort: s.optional(s.oneOf(...REASONING_EFFORTS)),
  /**
   * The meaning of a `<think>` block at the very beginning of an answer: `reasoning` (default) is streamed as reasoning and is not part of
   * the answer; `text` is part of the answer.
   */
  thinkTags: s.optional(s.oneOf('reasoning', 'text')),
  /** Further settings, passed to the provider unchanged. */
  extra: s.optional(s.JSON_OBJECT),
};

/** The settings of a model call. Each defaults to the provider's. */
export interface ModelSettings extends s.ObjectOf<typeof SETTINGS_MEMBERS> {
  // Declared explicitly, so that the compiler's errors name the type instead of its parts.
  /** Further settings, passed to the provider unchanged. */
  extra?: JsonObject;
}
export const MODEL_SETTINGS: s.Shape<ModelSettings> = s.closedObject(SETTINGS_MEMBERS);

/** How a structured answer is requested and checked. */
export interface OutputSnapshot {
  /** `schema`: the provider enforces the schema. `final_answer`: the model calls a tool of that name. */
  mode: 'schema' | 'final_answer';
  /** The schema used to check the answer. */
  schema: JsonObject;
  /** The schema that is sent to the provider. */
  providerSchema: JsonObject;
  /** True: the provider is asked to enforce the schema. */
  strict: boolean;
  /** The number of times that an invalid answer is sent back to the model before the run ends with an error. */
  maxRetries: number;
}

/** The default patience of an agent: ten minutes. */
export const DEFAULT_PATIENCE_MS = 600_000;

/** The timing of the run's activities, recorded because the workflow schedules with it. */
export interface ActivityTiming {
  /** Milliseconds between two heartbeats, which is also the delay until a cancellation reaches another process. */
  heartbeatMs: number;
  /** The maximum milliseconds of one attempt of a model call. */
  modelTimeoutMs: number;
  /** All attempts of a model call, including the first, and excluding those that the provider refused (429, 5xx). */
  modelMaxAttempts: number;
  /** Milliseconds for which a refused model call is retried; with 0, refusals count as attempts. Absent: 10 minutes. */
  modelPatienceMs?: number;
  /**
   * True: attempts of a long-waiting model call may end without being made or counted, so the server does not limit them. Absent: it does.
   */
  parks?: true;
  /** Milliseconds between two checks of a child that cannot report its end. Absent for agents that start no runs. */
  childCheckMs?: number;
}

/** A child's own limits. A final attempt counts as a step. */
export type OwnLimits = LimitChanges & Pick<RunLimits, 'onLimit'>;

/** The limits of agents and programs, by name. */
export interface ChildLimits {
  /** Limits for runs of agents, by the name of the agent. */
  agents: Record<string, OwnLimits>;
  /** Limits for runs of programs, by the name of the program. */
  programs: Record<string, OwnLimits>;
  /** The tools of `ask` steps that run agents. Absent: there are none. */
  agentTools?: string[];
}

/** The agent as plain JSON, resolved by the run's first activity and pinned for the whole run. */
export interface AgentSnapshot extends SnapshotParts {
  /** The version of this form: 1. */
  version: 1;
  /** The name of the agent. */
  name: string;
  /** The description of the agent in the document of a saved context. Absent: none. */
  description?: string;
  /** The instructions, rendered for this run. Each becomes a system message. */
  instructions: string[];
  /** `provider/model`. The first model, if the agent has several. */
  model: string;
  /** The models of the agent, if it has several. Absent: `model` alone. */
  fallback?: FallbackPolicy;
  /** The tools, as pinned for the run. */
  tools: ToolSnapshot[];
  /** The tools that its providers run themselves. Absent: none. */
  hosted?: HostedTool[];
  /** False: the calls of one response run sequentially. */
  parallel: boolean;
  /** Settings of its model calls. */
  settings: ModelSettings;
  /** The schema of the answer. Absent if the answer is text. */
  output?: OutputSnapshot;
  /** The checks of the answer, if the agent is an `ask` with tools. */
  checks?: AnswerRules;
  /** How the agent runs code. Absent: it runs no code. */
  code?: CodeSnapshot;
  /** The form of the model's answers. Absent: text and tool calls. */
  replyFormat?: ReplyFormat;
  /** The agents to which it may hand the run over. Absent: none. */
  handoffs?: HandoffPolicy;
  /** The flow that the run begins with. Absent: the run began with a single agent. */
  flow?: FlowPolicy;
  /** The guardrails, in the order of the definition. Absent: none. */
  guardrails?: GuardrailSnapshot[];
  /** The schema of deps, applied to each update. Absent: deps are not checked. */
  deps?: JsonObject;
  /** A person is asked about the outcome of a call whose result was lost. Absent: the model reads that the outcome is unknown. */
  onUnknownOutcome?: 'ask';
  /** The limits that the agent sets for its runs. */
  limits: RunLimits;
  /** The limits of the descendants. Absent: the agent starts no runs, or has the defaults. */
  children?: ChildrenOptions;
  /** The time limits and attempts of its model calls. */
  timing: ActivityTiming;
  /** Model calls wait for their provider's batches. Absent: they are made immediately. */
  tier?: 'batch';
  /** Several quick steps run in one activity. Absent: each call is an activity. */
  burst?: BurstPolicy;
  /** The skills of the agent, lowest priority number first. Absent: none. */
  skills?: SkillSnapshot[];
  /** How the agent uses its worker's memory. Absent: it does not. */
  memory?: MemoryPolicy;
  /** The deadline for decisions about tools that set no deadline. */
  approvals?: ApprovalDeadline;
  /** The worker checks that an approver may decide. */
  authorize?: true;
  /** The worker calls its `notify` for each call that waits for a decision. */
  notify?: true;
  /** The worker calls its `notifyEnded` when the run ends. */
  notifyEnded?: true;
  /** The known prices of the model and of the summary model, by `provider/model`. */
  prices?: Record<string, ModelPrice>;
  /** Absent in the snapshot of a program, which has no conversation. */
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
  /** The namespace also has the search attribute with the names of the tools that a run waits for. */
  waitingForAttribute?: true;
  /** The tags that the run was started with. Absent: none. */
  tags?: string[];
  /** A digest of the tenant or user whose share of the providers' rate limits the calls use. Absent: no separate share. */
  tenantDigest?: string;
  /** The run has tags, and the namespace has the search attribute for them. */
  tagAttribute?: true;
  /** The namespace has the search attribute with the start of a run that has continued as new. */
  startedAttribute?: true;
  /** The document, if the run executes a program. The other fields are then shared by all of its steps. */
  program?: ProgramDocument;
  /** The limits of the agents and programs that the program's steps run, by name. Absent: the run shares no limit with them. */
  childLimits?: ChildLimits;
  /** The beginning of the SHA-256 of the canonical JSON of all other fields, in base64url. */
  digest: string;
}

/** The bounds of a burst, which runs several steps in one activity. Each bound is checked before every model call except the first. */
export interface BurstPolicy {
  /** Model calls. */
  steps: number;
  /** Bytes of JSON of the outcomes of its calls. */
  bytes: number;
  /** Seconds since it began. */
  seconds: number;
}

/** The bounds of an agent's window and how it is compacted. Pinned in the snapshot. */
export interface WindowPolicy {
  /** Tokens, including instructions and tools. */
  maxTokens: number;
  /** Bytes of JSON. */
  maxBytes: number;
  /** The number of newest tool results that stay while anything else can be removed. */
  keepResults: number;
  /** True: a model call summarizes the older part if evicting results is not enough. False: the run ends instead. */
  summarize: boolean;
  /** The model for summaries, as `provider/model`. Default: the agent's own model or list of models. */
  summaryModel?: string;
}

/** Returns the model that summarizes an agent's conversation and generates titles for its sessions. */
export function summaryModelOf({ model, window }: { model: string; window?: Pick<WindowPolicy, 'summaryModel'> }): string {
  return window?.summaryModel ?? model;
}

/** The models of an agent, as defined or pinned. */
interface WithModels {
  model: string;
  fallback?: { models: readonly (string | { model: string })[] };
}

/** Returns the models that an agent's calls ask, in order: the list, or the only model. */
export function agentModels({ model, fallback }: WithModels): string[] {
  return fallback?.models.map((one) => (typeof one === 'string' ? one : one.model)) ?? [model];
}

/** Returns the models for summaries, in the order in which they are asked. */
export function summaryModelsOf(agent: WithModels & { window?: Pick<WindowPolicy, 'summaryModel'> }): string[] {
  return agent.window?.summaryModel === undefined ? agentModels(agent) : [agent.window.summaryModel];
}

/** The wait before the second attempt, and its growth before further ones. */
export interface Backoff {
  /** Milliseconds before the second attempt. */
  initialMs: number;
  /** The ratio of each wait to the previous one. */
  factor: number;
  /** The longest wait in milliseconds. */
  maxMs: number;
}

/** How a tool's calls run and are retried, pinned for a run. An absent field means its default. */
export interface ToolPolicy {
  /** The maximum milliseconds of one attempt. */
  timeoutMs: number;
  /** The maximum number of attempts, including the first. */
  maxAttempts: number;
  /** The waits between attempts. Absent: 1 second, doubled each time up to 1 minute; for a local tool, 50 ms up to 1 second. */
  backoff?: Backoff;
  /** A call that may have started is never started again. Absent: calls are idempotent, and retried with the same key. */
  effect?: 'once';
  /** The tool can report the outcome of a call whose result was lost. */
  verify?: true;
  /** The call runs inside the workflow task, without a round trip to the server. Absent: `remote`. */
  tier?: 'local';
  /** Milliseconds without a heartbeat after which an attempt is given up. */
  heartbeatTimeoutMs?: number;
  /** The number of consecutive times that a call may ask the model to try again. */
  modelRetries?: number;
  /** The number of calls that may run at the same time on one worker. */
  concurrency?: number;
  /** The task queue of its calls. Absent: the run's. */
  taskQueue?: string;
}

/** The default policy, for everything that neither the tool nor the snapshot sets. */
export const DEFAULT_POLICY = {
  timeoutMs: 60_000,
  localTimeoutMs: 5_000,
  maxAttempts: 3,
  backoff: { initialMs: 1_000, factor: 2, maxMs: 60_000 },
  /** Short, because the workflow task stays open during the wait. */
  localBackoff: { initialMs: 50, factor: 2, maxMs: 1_000 },
  modelRetries: 2,
} as const;

/** The maximum time of a local call, which keeps the workflow task open: longer calls must be remote. */
export const MAX_LOCAL_TIMEOUT_MS = 10_000;

/** Returns the backoff of a tool, or the default of its tier. */
export function backoffOf({ backoff, tier }: Pick<ToolPolicy, 'backoff' | 'tier'>): Backoff {
  return backoff ?? (tier === 'local' ? DEFAULT_POLICY.localBackoff : DEFAULT_POLICY.backoff);
}

/** Returns a tool that a capability provides, not the user's code: remote, for the model only, with the default policy. */
export function suppliedTool(name: string, description: string, parameters: JsonObject): ToolSnapshot {
  const { timeoutMs, maxAttempts } = DEFAULT_POLICY;
  return { name, description, parameters, strict: false, schema: parameters, parallel: true, timeoutMs, maxAttempts, callers: ['model'] };
}

/** Returns the maximum number of attempts of a tool: one if its effect is `once`. */
export function attemptsOf({ effect, maxAttempts }: Pick<ToolPolicy, 'effect' | 'maxAttempts'>): number {
  return effect === 'once' ? 1 : maxAttempts;
}

/** The number of missed heartbeats after which an activity counts as lost. */
export const MISSED_HEARTBEATS = 3;

/** The owner of a run's tools: an agent of the worker, by name, or the worker itself, which has tools for programs. */
export interface ToolOwner {
  agentName: string;
  /** The tools are the worker's tools for programs. An agent may have the same name as a program. */
  ofProgram?: true;
}

export function toolOwner({ name, program, checks }: Pick<AgentSnapshot, 'name' | 'program' | 'checks'>): ToolOwner {
  return { agentName: name, ...(program === undefined && checks === undefined ? {} : { ofProgram: true }) };
}

/** The agent that a tool runs, as pinned for a run. */
export interface AgentOfTool {
  /** The name of the agent. */
  name: string;
  /** The deps fields that the agent receives from the run. */
  share: string[];
  /** The limits of each of its runs. */
  limits?: LimitChanges;
  /** Its result is the run's result. */
  final?: true;
  /** The tool has only the parameter `request`, whose text the agent receives. Absent: it receives the arguments as JSON. */
  request?: true;
  /** The agent belongs to a parallel flow: it receives the run's input and deps, and the run keeps no share of its limits. */
  branch?: true;
  /** The agent is kept between calls of the tool, as a session. */
  kept?: true;
  /** The agent starts no runs itself. */
  leaf?: true;
}

const FLOW_KIND = s.oneOf('sequential', 'loop', 'parallel');

/**
 * How the agents of a flow act. `sequential`: each acts once, in order. `loop`: all act again after the last one. `parallel`: all act at
 * the same time, each in a separate run.
 * @useDeclaredType
 */
export type FlowKind = s.ValueOf<typeof FLOW_KIND>;

const FLOW_MEMBERS = {
  /** How the agents act: in order, in rounds, or at the same time. */
  kind: FLOW_KIND,
  /** The names of the agents, in order. */
  agents: s.listOf(s.boundedText({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 100, uniqueItems: true }),
  /** The number of rounds of a loop. */
  maxIterations: s.optional(s.boundedNumber({ ...s.AT_LEAST_ONE, maximum: 10_000 })),
  /** The schema of an answer that ends a loop. Absent: only the number of rounds ends it. */
  until: s.optional(s.JSON_OBJECT),
};

/** The flow of agents in the input of a run. The run then has its own name instead of an agent's. */
export interface FlowInput extends s.ObjectOf<typeof FLOW_MEMBERS> {}
export const FLOW_INPUT: s.Shape<FlowInput> = s.closedObject(FLOW_MEMBERS);

/** The agents of a flow, pinned in the snapshot of its first agent, or of the flow itself if it is parallel. */
export interface FlowPolicy extends FlowInput {
  /** The name of the flow. Its runs are listed under this name. */
  name: string;
  maxIterations: number;
}

/** The position of a run in its flow. */
export interface FlowState extends FlowPolicy {
  /** The index of the agent whose turn it is. */
  turn: number;
  /** The round. 1-based. */
  iteration: number;
  /** The agent has answered, and the next one takes over before the next model call. */
  isDue?: true;
}

/** The default number of rounds of a loop. */
export const DEFAULT_ITERATIONS = 5;

/** The name of the tool that hands the run over to another agent. */
export const TRANSFER_TO_AGENT = 'transfer_to_agent';

/** The default maximum number of handoffs of a run. */
export const DEFAULT_MAX_HANDOFFS = 10;

/** The agents to which an agent may hand the run over, pinned in its snapshot. */
export interface HandoffPolicy {
  /** Their names. */
  agents: string[];
  /** The maximum number of handoffs of a run that begins with the agent. */
  max: number;
}

/** The memory of an agent, pinned in its snapshot. */
export interface MemoryPolicy {
  /** The name that replaces the agent's name in the namespace of its memory. Absent: the agent's own name. */
  name?: string;
  /** The bounds of the entries that a run's first model call receives from the memory. Absent: none are recalled. */
  recall?: RecallBounds;
  /** The model has the tools `remember`, `recall` and `forget`. */
  tools?: true;
}

/** The bounds of the entries that a model call receives from the memory. */
export interface RecallBounds {
  /** The maximum number of entries. */
  topK: number;
  /** The maximum bytes of their text. */
  maxBytes: number;
}

/** The default bounds. `maxBytes` is also the largest value that an agent may set. */
export const DEFAULT_RECALL: RecallBounds = { topK: 5, maxBytes: 4_096 };

/** The name of the tool that loads a skill, which is active from then on. */
export const LOAD_SKILL = 'load_skill';

/** The name of the tool that reads a file of a skill. */
export const READ_SKILL_FILE = 'read_skill_file';

export const SKILL_TOOLS: readonly string[] = [LOAD_SKILL, READ_SKILL_FILE];

/** The content of a skill that a run is pinned to. */
export interface PinnedSkill {
  /** The digest over all files of the skill. */
  digest: string;
  /** The files in the payload store. Absent if the worker has no store. */
  stored?: SpilledContent;
}

/** A skill of an agent, as pinned for a run. */
export interface SkillSnapshot extends PinnedSkill {
  /** The name that the model uses to request the skill. */
  name: string;
  /** What the skill is for. The model decides by it whether to read the skill. */
  description: string;
  /** The names of the tools that may be called while it is active. Absent: all. */
  allowedTools?: string[];
  /** It has been active since the start of the run: its text is part of the instructions. */
  active?: true;
}

/** `provider/model`. */
export const MODEL_NAME = s.boundedText({ pattern: '^[^/]+/.', maxLength: 1_000 });

const DOCUMENT_MEMBERS = {
  ...ANSWER_RULES,
  /** `provider/model`. */
  model: MODEL_NAME,
  /** The rendered system prompt. The worker adds the texts of the anchors. */
  instructions: s.listOf(s.TEXT),
  /** Names of the worker's tools for programs. */
  tools: s.listOf(ANSWER_RULES.step, { minItems: 1, uniqueItems: true }),
  /** Settings of its model calls. Absent: the provider's defaults. */
  settings: s.optional(s.anyObject<ModelSettings>()),
  /** The JSON Schema of the answer. */
  output: s.optional(s.JSON_OBJECT),
};

/** An agent as plain data in the input of its run: an `ask` with tools. No worker knows it by name. */
export interface AgentDocument extends s.ObjectOf<typeof ANSWER_RULES>, s.ObjectOf<typeof DOCUMENT_MEMBERS> {}
export const AGENT_DOCUMENT: s.Shape<AgentDocument> = s.closedObject(DOCUMENT_MEMBERS);

/** Returns the checks that a document declares. */
export function rulesOf({ model: _, instructions: __, tools: ___, settings: ____, output: _____, ...rules }: AgentDocument): AnswerRules {
  return rules;
}

/** Returns a snapshot without the data of the document, which is already in the history of the run. */
export function withoutDocument(snapshot: AgentSnapshot, document: AgentDocument): AgentSnapshot {
  const { checks: _, output, ...others } = snapshot;
  const brief = { ...others, settings: {}, instructions: snapshot.instructions.slice(document.instructions.length) };
  if (output === undefined) return brief;
  const isSame = canonicalJson(output.providerSchema) === canonicalJson(output.schema);
  return { ...brief, output: { ...output, schema: {}, providerSchema: isSame ? {} : output.providerSchema } };
}

/** Restores the data of the document in a snapshot. */
export function withDocument(snapshot: AgentSnapshot, document: AgentDocument): AgentSnapshot {
  const { output, ...others } = snapshot;
  const { output: schema = {} } = document;
  const whole: AgentSnapshot = {
    ...others,
    settings: document.settings ?? {},
    instructions: [...document.instructions, ...snapshot.instructions],
    checks: rulesOf(document),
  };
  if (output === undefined) return whole;
  const isSame = Object.keys(output.providerSchema).length === 0;
  return { ...whole, output: { ...output, schema, providerSchema: isSame ? schema : output.providerSchema } };
}

/** The estimated bytes of text per token. The provider's own count corrects the estimate, if available. */
export const BYTES_PER_TOKEN = 4;

interface SnapshotSizes {
  /** Bytes of the whole snapshot in the carried state. */
  whole: number;
  /** Bytes of the part that every request repeats. */
  request: number;
  /** Bytes of the agent's name as the author of an event. */
  name: number;
}

/** Returns the bytes of a snapshot in the carried state. */
export function snapshotBytes(snapshot: AgentSnapshot): number {
  return sizesOf(snapshot).whole;
}

/** Estimates the tokens of a request with a window: the conversation, and the parts that each request repeats. */
export function estimatedPromptTokens(snapshot: AgentSnapshot, { bytes, events }: Pick<Window, 'bytes' | 'events'>): number {
  return estimatedTokens(bytes - bytesBeyondText(events) + sizesOf(snapshot).request);
}

/** Estimates the tokens of a request. */
export function estimatedRequestTokens(request: { conversation: readonly { content: readonly ContentItem[] }[] }): number {
  return estimatedTokens(jsonBytes(request) - bytesBeyondText(request.conversation));
}

/** Estimates the tokens of a text of this size. */
export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The sizes of snapshots, each computed once, because a snapshot never changes and may be large. */
const sizes = new WeakMap<AgentSnapshot, SnapshotSizes>();

export function sizesOf(snapshot: AgentSnapshot): SnapshotSizes {
  const known = sizes.get(snapshot);
  if (known !== undefined) return known;
  const described = snapshot.tools.map(({ name, description, parameters }) => ({ name, description, parameters }));
  const request = jsonBytes(snapshot.instructions) + jsonBytes(described);
  const counted = { whole: jsonBytes(snapshot), request, name: jsonBytes(snapshot.name) };
  sizes.set(snapshot, counted);
  return counted;
}
