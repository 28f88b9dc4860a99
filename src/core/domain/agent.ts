import type { ApprovalDeadline, ApprovalPolicy } from './approvals.ts';
import { jsonBytes } from './byte-budgets.ts';
import type { CodeSnapshot } from './code.ts';
import type { HostedTool, SpilledContent } from './content.ts';
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
  /** What the model reads about the tool: what it does, and when to call it. */
  description: string;
  /** The JSON Schema of the arguments. */
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
  /** The capability that gives it to the agent. Absent: the agent has it of its own. */
  capability?: string;
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
  /** The kind of effect that it has, for rules about calls. */
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

/** True for a tool whose calls a function of the user runs. */
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

/** The choice of tools that an agent makes for its model. @useDeclaredType */
export type ToolChoice = s.ValueOf<typeof TOOL_CHOICE>;

/** The choice of tools in one model call. */
export type PlainToolChoice = 'auto' | 'required' | 'none' | { tool: string };

const SETTINGS_MEMBERS = {
  /** How freely the model chooses its words: 0 to 2. */
  temperature: s.optional(s.boundedNumber({ minimum: 0, maximum: 2 })),
  /** The most tokens of an answer. */
  maxOutputTokens: s.optional(s.AT_LEAST_ONE),
  /**
   * `auto` (default): the model may call tools. `none`: it may not. `required`, or `{ tool }`: it must call a tool, or this one, in the
   * first step of a turn, and may in the others; with `every: true` it must in every step, and never answers with text.
   */
  toolChoice: s.optional(TOOL_CHOICE),
  /** False: the model makes at most one call in an answer. */
  parallelToolCalls: s.optional(s.FLAG),
  /** How much the model thinks before it answers. A provider that knows other words, or none, says so in a warning. */
  reasoningEffort: s.optional(s.oneOf(...REASONING_EFFORTS)),
  /**
   * What a `<think>` block at the very beginning of an answer is: `reasoning` (default) is streamed as such and is no part of the
   * answer; `text` is.
   */
  thinkTags: s.optional(s.oneOf('reasoning', 'text')),
  /** Further settings, passed to the provider unchanged. */
  extra: s.optional(s.JSON_OBJECT),
};

/** The settings of a model call. Each one defaults to that of the provider. */
export interface ModelSettings extends s.ObjectOf<typeof SETTINGS_MEMBERS> {
  // With a member of its own, the compiler names the type in errors, not what it is made of.
  /** Further settings, passed to the provider unchanged. */
  extra?: JsonObject;
}
export const MODEL_SETTINGS: s.Shape<ModelSettings> = s.closedObject(SETTINGS_MEMBERS);

/** The way in which a structured answer is obtained and checked. */
export interface OutputSnapshot {
  /** `schema`: the provider enforces it. `final_answer`: the model calls a tool of that name. */
  mode: 'schema' | 'final_answer';
  /** The schema that the answer is checked against. */
  schema: JsonObject;
  /** The schema that the provider is sent. */
  providerSchema: JsonObject;
  /** True: the provider is asked to enforce the schema. */
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
  /** True: attempts of a model call may end unmade and uncounted, because it waits for long, so the server does not limit them. Absent: it does. */
  parks?: true;
  /** Milliseconds between two checks that a child is alive which cannot tell of its end. Absent for agents that start no runs. */
  childCheckMs?: number;
}

/** A child's own limits. A final attempt counts as a step. */
export type OwnLimits = LimitChanges & Pick<RunLimits, 'onLimit'>;

/** The limits of agents and programs, by their name. */
export interface ChildLimits {
  /** Limits for runs of agents, by the name of the agent. */
  agents: Record<string, OwnLimits>;
  /** Limits for runs of programs, by the name of the program. */
  programs: Record<string, OwnLimits>;
}

/** The agent as plain JSON, resolved by the run's first activity and pinned for the whole run. */
export interface AgentSnapshot extends SnapshotParts {
  /** The version of this form: 1. */
  version: 1;
  /** The name of the agent. */
  name: string;
  /** Describes the agent, for the document of a saved context. Absent: it has no description. */
  description?: string;
  /** The instructions, rendered for this run. Each becomes a system message. */
  instructions: string[];
  /** `provider/model`. The first one, if the agent has several. */
  model: string;
  /** The models of the agent, if it has several. Absent: `model` alone. */
  fallback?: FallbackPolicy;
  /** The tools, as they are pinned for the run. */
  tools: ToolSnapshot[];
  /** The tools that its providers run by themselves. Absent: none. */
  hosted?: HostedTool[];
  /** False: the calls of one response run one after the other. */
  parallel: boolean;
  /** Settings of its model calls. */
  settings: ModelSettings;
  /** The schema of the answer. Absent if the answer is text. */
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
  /** The limits that the agent sets for its runs. */
  limits: RunLimits;
  /** The limits of the descendants. Absent: the agent starts none, or has the defaults. */
  children?: ChildrenOptions;
  /** Time limits and attempts of its model calls. */
  timing: ActivityTiming;
  /** Model calls wait for batches of their provider. Absent: they are made at once. */
  tier?: 'batch';
  /** Quick steps run in one activity. Absent: each call is an activity. */
  burst?: BurstPolicy;
  /** The skills of the agent, those with the lowest priority first. Absent: none. */
  skills?: SkillSnapshot[];
  /** The way in which the agent uses the memory of its worker. Absent: it does not. */
  memory?: MemoryPolicy;
  /** The deadline for decisions about tools that set none. */
  approvals?: ApprovalDeadline;
  /** The worker checks that an approver may decide. */
  authorize?: true;
  /** The worker calls its `notify` for every call that waits for a decision. */
  notify?: true;
  /** The worker calls its `notifyEnded` when the run has ended. */
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
  /** A digest of the tenant, or of the user, whose share of the limits of providers the calls use. Absent: they have none of their own. */
  tenantDigest?: string;
  /** The run has tags, and the namespace has the search attribute for them. */
  tagAttribute?: true;
  /** The document, if the run is that of a program. Its other fields are then those that every step of it shares. */
  program?: ProgramDocument;
  /** The limits of the agents and programs that steps of the program run, by their name. Absent: the run shares no limit with them. */
  childLimits?: ChildLimits;
  /** The beginning of the SHA-256 of the canonical JSON of all other fields, in base64url. */
  digest: string;
}

/** The bounds of a burst, which makes several steps of a run in one activity. Each is checked before a model call that is not its first. */
export interface BurstPolicy {
  /** Model calls. */
  steps: number;
  /** Bytes of JSON of the outcomes of its calls. */
  bytes: number;
  /** Seconds since it began. */
  seconds: number;
}

/** The bounds of the window of an agent, and the way in which it is compacted. Pinned in the snapshot. */
export interface WindowPolicy {
  /** Tokens, instructions and tools included. */
  maxTokens: number;
  /** Bytes of JSON. */
  maxBytes: number;
  /** The number of newest tool results that stay as long as anything else can be taken out. */
  keepResults: number;
  /** True: a model call summarises the older part if evicting results is not enough. False: the run ends instead. */
  summarise: boolean;
  /** The model that summarises, as `provider/model`. Default: the agent's own, or its list. */
  summaryModel?: string;
}

/** Returns the model that summarises the conversation of an agent, and gives its sessions their titles. */
export function summaryModelOf({ model, window }: { model: string; window?: Pick<WindowPolicy, 'summaryModel'> }): string {
  return window?.summaryModel ?? model;
}

/** The models of an agent, as it is defined or pinned. */
interface WithModels {
  model: string;
  fallback?: { models: readonly (string | { model: string })[] };
}

/** Returns the models that the calls of an agent ask, in their order: those of its list, or the only one. */
export function agentModels({ model, fallback }: WithModels): string[] {
  return fallback?.models.map((one) => (typeof one === 'string' ? one : one.model)) ?? [model];
}

/** Returns the models that may summarise, in the order in which they are asked. */
export function summaryModelsOf(agent: WithModels & { window?: Pick<WindowPolicy, 'summaryModel'> }): string[] {
  return agent.window?.summaryModel === undefined ? agentModels(agent) : [agent.window.summaryModel];
}

/** The wait before the second attempt, and its growth before further ones. */
export interface Backoff {
  /** Milliseconds before the second attempt. */
  initialMs: number;
  /** The ratio of each wait to the one before. */
  factor: number;
  /** The longest wait in milliseconds. */
  maxMs: number;
}

/** The way in which the calls of a tool run and are retried, pinned for a run. An absent field means its default. */
export interface ToolPolicy {
  /** Milliseconds that one attempt may take. */
  timeoutMs: number;
  /** All attempts, including the first one. */
  maxAttempts: number;
  /** The waits between attempts. Absent: 1 second, then twice as long each time, up to 1 minute; 50 ms up to 1 second for a local tool. */
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
  /** The number of calls that may run at a time on one worker. */
  concurrency?: number;
  /** The task queue of its calls. Absent: that of the run. */
  taskQueue?: string;
}

/** The policy of a tool for everything that neither the tool nor the snapshot sets. */
export const DEFAULT_POLICY = {
  timeoutMs: 60_000,
  localTimeoutMs: 5_000,
  maxAttempts: 3,
  backoff: { initialMs: 1_000, factor: 2, maxMs: 60_000 },
  /** Short, because the workflow task stays open during the wait. */
  localBackoff: { initialMs: 50, factor: 2, maxMs: 1_000 },
  modelRetries: 2,
} as const;

/** The longest time of a local call, which holds the workflow task open: longer calls belong to the remote tier. */
export const MAX_LOCAL_TIMEOUT_MS = 10_000;

/** Returns the backoff of a tool, or the default of its tier. */
export function backoffOf({ backoff, tier }: Pick<ToolPolicy, 'backoff' | 'tier'>): Backoff {
  return backoff ?? (tier === 'local' ? DEFAULT_POLICY.localBackoff : DEFAULT_POLICY.backoff);
}

/** A tool that comes with a capability, and not from the user's code: remote, for the model alone, with the default policy. */
export function suppliedTool(name: string, description: string, parameters: JsonObject): ToolSnapshot {
  const { timeoutMs, maxAttempts } = DEFAULT_POLICY;
  return { name, description, parameters, strict: false, schema: parameters, parallel: true, timeoutMs, maxAttempts, callers: ['model'] };
}

/** Returns the number of attempts of a tool: one if its effect is `once`. */
export function attemptsOf({ effect, maxAttempts }: Pick<ToolPolicy, 'effect' | 'maxAttempts'>): number {
  return effect === 'once' ? 1 : maxAttempts;
}

/** The number of missed heartbeats after which an activity counts as lost. */
export const MISSED_HEARTBEATS = 3;

/** The owner of the tools of a run: an agent of the worker by its name, or the worker itself, which has tools for programs. */
export interface ToolOwner {
  agentName: string;
  /** The tools are those that the worker has for programs. An agent may have the same name as a program. */
  ofProgram?: true;
}

export function toolOwner({ name, program, checks }: Pick<AgentSnapshot, 'name' | 'program' | 'checks'>): ToolOwner {
  return { agentName: name, ...(program === undefined && checks === undefined ? {} : { ofProgram: true }) };
}

/** The agent that a tool runs, as it is pinned for a run. */
export interface AgentOfTool {
  /** The name of the agent. */
  name: string;
  /** The fields of the deps of the run that the agent gets. */
  share: string[];
  /** The limits of one run of it. */
  limits?: LimitChanges;
  /** Its result is that of the run. */
  final?: true;
  /** The tool has the parameter `request` alone, whose text the agent gets. Absent: it gets the arguments as JSON. */
  request?: true;
  /** The agent is one of a parallel flow: it gets the input and the deps of the run, and the run keeps no part of its limits. */
  branch?: true;
  /** The agent is kept between the calls of the tool, as a session. */
  kept?: true;
  /** The agent starts no runs of its own. */
  leaf?: true;
}

const FLOW_KIND = s.oneOf('sequential', 'loop', 'parallel');

/**
 * The way in which the agents of a flow act. `sequential`: each acts once, in order. `loop`: all act again after the last one.
 * `parallel`: all act at the same time, each in a separate run.
 * @useDeclaredType
 */
export type FlowKind = s.ValueOf<typeof FLOW_KIND>;

const FLOW_MEMBERS = {
  /** How the agents act: one after the other, in rounds, or at once. */
  kind: FLOW_KIND,
  /** The names of the agents, in order. */
  agents: s.listOf(s.boundedText({ minLength: 1, maxLength: 100 }), { minItems: 1, maxItems: 100, uniqueItems: true }),
  /** The number of rounds of a loop. */
  maxIterations: s.optional(s.boundedNumber({ ...s.AT_LEAST_ONE, maximum: 10_000 })),
  /** The schema of an answer that ends a loop. Absent: the number of rounds alone ends it. */
  until: s.optional(s.JSON_OBJECT),
};

/** The order of agents as the input of a run has it. The run then has a name of its own in place of that of an agent. */
export interface FlowInput extends s.ObjectOf<typeof FLOW_MEMBERS> {}
export const FLOW_INPUT: s.Shape<FlowInput> = s.closedObject(FLOW_MEMBERS);

/** The agents of a flow, pinned in the snapshot of the first one that acts, or of the flow itself if it is parallel. */
export interface FlowPolicy extends FlowInput {
  /** The name of the flow, by which its runs are found. */
  name: string;
  maxIterations: number;
}

/** The position of a run in its flow. */
export interface FlowState extends FlowPolicy {
  /** The index of the agent whose turn it is. */
  turn: number;
  /** The round, from 1. */
  iteration: number;
  /** The agent has answered, and the next one takes its turn before the model is called again. */
  isDue?: true;
}

/** The rounds of a loop that sets no other number. */
export const DEFAULT_ITERATIONS = 5;

/** The name of the tool by which an agent hands the run over to another. */
export const TRANSFER_TO_AGENT = 'transfer_to_agent';

/** The most handoffs of a run whose agent sets no other number. */
export const DEFAULT_MAX_HANDOFFS = 10;

/** The agents that an agent may hand the run over to, pinned in its snapshot. */
export interface HandoffPolicy {
  /** Their names. */
  agents: string[];
  /** The most handoffs of a run that begins with the agent. */
  max: number;
}

/** The memory of an agent, pinned in its snapshot. */
export interface MemoryPolicy {
  /** The name that stands for the agent in the namespace of its memory. Absent: the agent's own. */
  name?: string;
  /** The bounds of what the first model call of a run is given from the memory. Absent: nothing. */
  recall?: RecallBounds;
  /** The model has the tools `remember`, `recall` and `forget`. */
  tools?: true;
}

/** The bounds of the entries that a model call is given from the memory. */
export interface RecallBounds {
  /** The most entries. */
  topK: number;
  /** The most bytes of their text. */
  maxBytes: number;
}

/** The bounds of an agent that sets none. `maxBytes` is also the largest that one may set. */
export const DEFAULT_RECALL: RecallBounds = { topK: 5, maxBytes: 4_096 };

/** The tool by which the model reads a skill, which is active from then on. */
export const LOAD_SKILL = 'load_skill';

/** The tool by which the model reads a file of a skill. */
export const READ_SKILL_FILE = 'read_skill_file';

export const SKILL_TOOLS: readonly string[] = [LOAD_SKILL, READ_SKILL_FILE];

/** The content of a skill that a run is pinned to. */
export interface PinnedSkill {
  /** The digest over all files of the skill. */
  digest: string;
  /** The files in the payload store. Absent if the worker has no store. */
  stored?: SpilledContent;
}

/** A skill of an agent, as a run is pinned to it. */
export interface SkillSnapshot extends PinnedSkill {
  /** The name by which the model asks for the skill. */
  name: string;
  /** What the skill is for: the model decides by it whether to read on. */
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
  /** The system prompt, rendered. The worker adds the texts of the anchors. */
  instructions: s.listOf(s.TEXT),
  /** Names of tools that the worker has for programs. */
  tools: s.listOf(ANSWER_RULES.step, { minItems: 1, uniqueItems: true }),
  /** Settings of its model calls. Absent: the defaults of the provider. */
  settings: s.optional(s.anyObject<ModelSettings>()),
  /** The JSON Schema of the answer. */
  output: s.optional(s.JSON_OBJECT),
};

/** An agent as plain data, in the input of its run: an `ask` with tools. No worker has it by its name. */
export interface AgentDocument extends s.ObjectOf<typeof ANSWER_RULES>, s.ObjectOf<typeof DOCUMENT_MEMBERS> {}
export const AGENT_DOCUMENT: s.Shape<AgentDocument> = s.closedObject(DOCUMENT_MEMBERS);

/** Returns the checks that a document declares. */
export function rulesOf({ model: _, instructions: __, tools: ___, settings: ____, output: _____, ...rules }: AgentDocument): AnswerRules {
  return rules;
}

/** Returns a snapshot without everything that came with the document, which is in the history of the run already. */
export function withoutDocument(snapshot: AgentSnapshot, document: AgentDocument): AgentSnapshot {
  const { checks: _, output, ...others } = snapshot;
  const brief = { ...others, settings: {}, instructions: snapshot.instructions.slice(document.instructions.length) };
  if (output === undefined) return brief;
  const isSame = canonicalJson(output.providerSchema) === canonicalJson(output.schema);
  return { ...brief, output: { ...output, schema: {}, providerSchema: isSame ? {} : output.providerSchema } };
}

/** Adds to a snapshot what came with the document. */
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

/** The estimated bytes of text per token. The provider's own count corrects the estimate, if there is one. */
export const BYTES_PER_TOKEN = 4;

interface SnapshotSizes {
  /** Bytes of the whole snapshot in the carried state. */
  whole: number;
  /** Bytes of the part that every request repeats. */
  request: number;
  /** Bytes of the name of the agent, as the author of an event. */
  name: number;
}

/** Returns the bytes of a snapshot in the carried state. */
export function snapshotBytes(snapshot: AgentSnapshot): number {
  return sizesOf(snapshot).whole;
}

/** Estimates the tokens of a request with a window: those of the conversation, and of what each request repeats. */
export function estimatedPromptTokens(snapshot: AgentSnapshot, { bytes }: Pick<Window, 'bytes'>): number {
  return estimatedTokens(bytes + sizesOf(snapshot).request);
}

/** Estimates the tokens of a text of some bytes. */
export function estimatedTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_PER_TOKEN);
}

/** The sizes of snapshots, each computed once: a snapshot never changes and may be large. */
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
