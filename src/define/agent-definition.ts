import type { z } from 'zod';
import type { FlowPolicy, ModelSettings, ReplyFormat } from '../core/domain/agent.ts';
import type { ApprovalDeadline } from '../core/domain/approvals.ts';
import { type ErrorCode, LonghaulError, UsageError } from '../core/domain/errors.ts';
import { MAY_MOVE_ON, MOST_MODELS } from '../core/domain/fallback.ts';
import { defined, isJsonObject, type JsonObject } from '../core/domain/json.ts';
import type { ChildrenOptions, RunLimits } from '../core/domain/limits.ts';
import { type ModelName, modelName } from '../core/domain/model.ts';
import type { DefaultOutput, RunResult } from '../core/domain/result.ts';
import { didYouMean } from '../core/domain/text.ts';
import { type Duration, milliseconds } from '../core/domain/time.ts';
import type { PricedModel } from '../model/models.ts';
import type { PartFields } from './all-parts.ts';
import type { CodeDefinition } from './code.ts';
import type { Resources } from './context.ts';
import { nonEmpty, type OptionTable, requireKnown, wholeNumber } from './option-checks.ts';
import type { ResourceDefinition } from './resources.ts';
import type { AnyTool, HostedToolDefinition, McpServerDefinition, ToolDefinition } from './tool-definition.ts';

/** Instructions: text, several texts (each becomes a system message), or a function of the run's deps, called once per run in an activity. */
export type Instructions<Deps> =
  | string
  | readonly string[]
  | ((deps: Deps) => string | readonly string[] | Promise<string | readonly string[]>);

/** The structured answer of an agent, checked. */
export interface OutputDefinition {
  /** The zod schema of the option `output`. */
  readonly zod: z.ZodType;
  /** The same as JSON Schema, against which answers are checked. */
  readonly schema: JsonObject;
  /** The JSON Schema that is sent to providers. */
  readonly providerSchema: JsonObject;
  /** True if `providerSchema` is in the strict subset of providers, which then enforce it. */
  readonly strict: boolean;
  /** The reason why `providerSchema` is not in the provider's strict subset. */
  readonly strictProblem?: string;
  /** Undefined: the provider's capability decides. */
  readonly mode: 'schema' | 'final_answer' | undefined;
  /** How often an invalid answer is sent back to the model before the run ends with an error. */
  readonly maxRetries: number;
}

/**
 * An agent as `defineAgent` returns it. Its type carries the types of its answer (`Output`, or `Unfinished` if the run did not
 * complete), of its deps as its functions receive them and as a start takes them, and of the resources that its tools name.
 * `runAgent<typeof agent>`, `client.run(agent, …)` and `testAgent` infer from them.
 */
export interface AgentDefinition<
  Output = unknown,
  Deps = never,
  GivenDeps = Deps,
  Needed = never,
  Unfinished = Output | string,
> extends PartFields {
  /** Distinguishes it from other definitions. */
  readonly kind: 'longhaul.agent';
  /** The name that a start uses. */
  readonly name: string;
  /** `provider/model`, split at the first slash. The first model, if it has several. */
  readonly model: ModelName;
  /** All its models, if it has several. Absent: only `model`. */
  readonly fallback?: FallbackDefinition;
  /** The instructions: one text or several, or a function of the deps that returns them. */
  readonly instructions: Instructions<Deps>;
  /** The tools of the agent and of its capabilities. MCP tools are not known before a run begins. */
  readonly tools: readonly AnyTool[];
  /** Tools that the providers of its models run. Absent: none. */
  readonly hosted?: readonly HostedToolDefinition[];
  /** MCP servers whose tools it also has. Absent: none. */
  readonly mcp?: readonly McpServerDefinition[];
  /** The zod schema of the deps. Absent: they are not checked. */
  readonly deps?: z.ZodType;
  /** The JSON Schema of the deps that a start takes. Updates of the deps are checked against it. */
  readonly depsSchema?: JsonObject;
  /** The action for a call whose outcome is unknown. */
  readonly onUnknownOutcome: 'report' | 'ask';
  /** The schema of the answer. Absent: the answer is text. */
  readonly output?: OutputDefinition;
  /** How it runs code. Absent: it runs none. */
  readonly code?: CodeDefinition;
  /** The form of the model's answers. Absent: text and tool calls. */
  readonly replyFormat?: ReplyFormat;
  /** Describes it to the models that may hand over to it. */
  readonly description?: string;
  /** The agents that it may hand a run over to. Absent: none. */
  readonly handoffs?: readonly HandoffTarget[];
  /** The most handoffs of a run that begins with it. Absent: 10. */
  readonly maxHandoffs?: number;
  /** The order of agents, if it is a flow: made by `defineFlow`. */
  readonly flow?: FlowPolicy;
  /** The agents of a flow. */
  readonly flowAgents?: readonly AnyAgent[];
  /** Settings of its model calls. */
  readonly settings: ModelSettings;
  /** How much of the conversation a model reads. */
  readonly window: WindowOptions;
  /** Limits of each run. */
  readonly limits: RunLimits;
  /** The limits of the runs that its tools start. Absent: the defaults. */
  readonly children?: ChildrenOptions;
  /** The deadline of decisions if the tool does not set one. */
  readonly approvals?: ApprovalDeadline;
  /** False: the calls of one answer run in order, one at a time. */
  readonly parallel: boolean;
  /** Milliseconds that one attempt of a model call may take. */
  readonly modelTimeoutMs: number;
  /** The number of attempts of a model call, the first included. Attempts that the provider refused (429, 5xx) do not count. */
  readonly modelMaxAttempts: number;
  /** Absent: the default. */
  readonly modelPatienceMs?: number;
  /** Only a type: the answer. @internal */
  readonly [OUTPUT]?: Output;
  /** Only a type: the deps as tools see them. @internal */
  readonly [DEPS]?: (deps: Deps) => void;
  /** Only a type: the deps as a start gives them. @internal */
  readonly [GIVEN_DEPS]?: (deps: GivenDeps) => void;
  /** Only a type: what the worker has to have. @internal */
  readonly [RESOURCES]?: (resources: Needed) => void;
  /** Only a type: the output of a run that did not complete. @internal */
  readonly [UNFINISHED]?: Unfinished;
}

/** Keys that are never present at run time: they carry the types. */
declare const OUTPUT: unique symbol;
declare const DEPS: unique symbol;
declare const GIVEN_DEPS: unique symbol;
declare const RESOURCES: unique symbol;
declare const UNFINISHED: unique symbol;

/** An agent that another one may hand a run over to. */
export interface HandoffTarget {
  /** The name of the agent. */
  readonly name: string;
  /** Absent if it was given by its name. */
  readonly agent?: AnyAgent;
}

/** An agent of any types, as registries hold it. */
export type AnyAgent = AgentDefinition<unknown, never, never, never, unknown>;

/** The type of an agent's output. */
export type OutputOf<Agent> = Agent extends AgentDefinition<infer Output, never, never, never, unknown> ? Output : never;

/** The type of an agent's deps, as its instructions and tools see them. */
export type DepsOf<Agent> = Agent extends AgentDefinition<unknown, infer Deps, never, never, unknown> ? Deps : never;

/** The type of an agent's deps as a start takes them: fields with a default may be left out. Unknown for a type that is not a specific agent. */
export type GivenDepsOf<Agent> =
  Agent extends AgentDefinition<unknown, never, infer Given, never, unknown> ? ([Given] extends [never] ? unknown : Given) : unknown;

/** The resources that the tools of an agent name in the type of their context. */
export type ResourcesOf<Agent> =
  Agent extends AgentDefinition<unknown, never, never, infer Needed, unknown> ? ([Needed] extends [never] ? Resources : Needed) : Resources;

/** The type of the output of a run that did not complete. */
export type UnfinishedOf<Agent> = Agent extends AgentDefinition<unknown, never, never, never, infer Unfinished> ? Unfinished : never;

/** The result of a run of the agent. */
export type ResultOf<Agent> = Agent extends AnyAgent ? RunResult<OutputOf<Agent>, UnfinishedOf<Agent>> : RunResult<DefaultOutput>;

/** The option `deps` of a start: required exactly if the schema of the agent requires a field. */
export type DepsOption<Given> = unknown extends Given
  ? { /** Run-scoped JSON data: user id, session, preferences. */ deps?: unknown }
  : RequiresSomething<Given> extends true
    ? { /** Run-scoped JSON data: user id, session, preferences. */ deps: Given }
    : { /** Run-scoped JSON data: user id, session, preferences. */ deps?: Given };

/** Returns the agent that a tool was made from; undefined for any other tool, and for one that refers to its agent by name. */
export function agentOfTool({ agent }: Pick<AnyTool, 'agent'>): AnyAgent | undefined {
  return agent?.definition as AnyAgent | undefined;
}

/** Returns the agents and, recursively, those that their tools run, each once. */
export function withSubAgents(agents: readonly AnyAgent[]): AnyAgent[] {
  const all = [...agents];
  const known = new Set<AnyAgent>(agents);
  for (const agent of all) {
    for (const tool of agent.tools) {
      const below = agentOfTool(tool);
      if (below === undefined || known.has(below)) continue;
      known.add(below);
      all.push(below);
    }
  }
  return all;
}

/** Returns why an agent cannot run with only these fields of the deps; undefined if it can. */
export function shareProblem({ name, depsSchema }: AnyAgent, share: readonly string[]): string | undefined {
  if (depsSchema === undefined) return undefined;
  const { properties, required } = depsSchema;
  const known = isJsonObject(properties) ? Object.keys(properties) : [];
  const isOpen = depsSchema['additionalProperties'] !== undefined && depsSchema['additionalProperties'] !== false;
  const unknown = share.find((field) => !isOpen && !known.includes(field));
  if (unknown !== undefined) return `the deps of agent "${name}" have no field "${unknown}" (they have: ${known.join(', ') || 'none'})`;
  const needed = Array.isArray(required) ? required.filter((field) => typeof field === 'string') : [];
  const missing = needed.find((field) => !share.includes(field));
  return missing === undefined ? undefined : `agent "${name}" requires the field "${missing}" of its deps: share it`;
}

/** Returns the deps parsed by the agent's schema, with defaults. Throws `invalid_input` with the path of a missing or invalid value. */
export function parseDeps(agent: AnyAgent, deps: unknown): unknown {
  if (agent.deps === undefined) return deps;
  const parsed = agent.deps.safeParse(deps);
  if (parsed.success) return parsed.data;
  throw new LonghaulError('invalid_input', `The deps do not fit agent "${agent.name}": ${depsIssues(deps, parsed.error)}`);
}

/** Describes the invalid values. A missing value is described as an option that the start lacks. */
function depsIssues(deps: unknown, { issues }: z.ZodError): string {
  const missing = issues.filter(({ path }) => isMissing(deps, path));
  const texts = issues.map(
    ({ path, message }) => `${['deps', ...path].join('.')}${isMissing(deps, path) ? ' is missing' : `: ${message}`}`,
  );
  const names = [...new Set(missing.flatMap(({ path }) => path.slice(0, 1)))].map((name) => `${String(name)}: …`);
  return `${texts.join('; ')}${names.length === 0 ? '' : `. Start it with { deps: { ${names.join(', ')} } }`}`;
}

/** True if the value has the parent of a path, but nothing at the path itself. */
function isMissing(value: unknown, path: readonly PropertyKey[]): boolean {
  if (path.length === 0) return value === undefined;
  const [name, ...rest] = path;
  const member: unknown = isJsonObject(value) ? value[String(name)] : undefined;
  return member === undefined ? rest.length === 0 : isMissing(member, rest);
}

/** Describes the values that do not fit a schema, each with its path under `root`. */
export function issuesText(root: string, { issues }: Pick<z.ZodError, 'issues'>): string {
  return issues.map((issue) => `${[root, ...issue.path].join('.')}: ${issue.message}`).join('; ');
}

/** The size to which the conversation of a run may grow before its older part is compacted. */
export interface WindowOptions {
  /** Tokens of a request, instructions and tools included. Default: the model's context window, minus room for its answer. */
  maxTokens?: number;
  /** Bytes of JSON, at most 1,200,000: on continue-as-new, the conversation is passed on in one payload. Default 1,000,000. */
  maxBytes?: number;
  /** The number of newest tool results to keep: they are removed only as a last resort. Default 4. */
  keepResults?: number;
  /** True to let a model call summarize the older part if removing tool results is not enough; otherwise the run fails. Default true. */
  summarize?: boolean;
  /** The model that summarizes, `provider/model`. Default: the agent's model, or its list of models. */
  summaryModel?: ModelName;
}

const WINDOW_OPTIONS: OptionTable<WindowOptions> = {
  maxTokens: true,
  maxBytes: true,
  keepResults: true,
  summarize: true,
  summaryModel: true,
};

/** The largest window: on continue-as-new, it is passed on with the snapshot, state and queue in one payload. */
const MOST_WINDOW_BYTES = 1_200_000;

/** Returns the options if they are valid; otherwise throws a UsageError that names the agent and the option. */
export function checkWindow(owner: string, window: WindowOptions): WindowOptions {
  requireKnown(`${owner}: "window"`, window, WINDOW_OPTIONS);
  const { maxTokens, maxBytes, keepResults, summarize, summaryModel } = window;
  if (summarize !== undefined && typeof summarize !== 'boolean') {
    throw new UsageError(`${owner}: "window.summarize" is ${JSON.stringify(summarize)}: write true or false`);
  }
  if (maxTokens !== undefined) wholeNumber(`${owner}: "window.maxTokens"`, maxTokens, 100);
  if (maxBytes !== undefined) wholeNumber(`${owner}: "window.maxBytes"`, maxBytes, 1_000);
  if (maxBytes !== undefined && maxBytes > MOST_WINDOW_BYTES) {
    throw new UsageError(`${owner}: "window.maxBytes" is ${maxBytes}: a run can carry on at most ${MOST_WINDOW_BYTES}`);
  }
  if (keepResults !== undefined) wholeNumber(`${owner}: "window.keepResults"`, keepResults, 0);
  if (summaryModel !== undefined && !/^[^/]+\/./.test(summaryModel)) {
    throw new UsageError(`${owner}: "window.summaryModel" is "${summaryModel}": write "provider/model"`);
  }
  return window;
}

/** The intersection of the types in a union; `Resources` if there are none. */
export type AllOf<Union> = [Union] extends [never]
  ? Resources
  : (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
    ? All
    : never;

/** The resources that a tool asks its worker for. */
export type ResourcesOfTool<Tool> =
  Tool extends ToolDefinition<never, never, unknown, infer Needed> ? ([Needed] extends [never] ? Resources : Needed) : never;

/** The resources that these tools name in the type of their context, and those of the union `Further`. */
export type ResourcesOfTools<Tools extends readonly (AnyTool | HostedToolDefinition)[], Further = never> = AllOf<
  ResourcesOfTool<Tools[number]> | Further
>;

/** The resources that the tools of any of these agents name. */
export type ResourcesOfAgents<Agents extends readonly AnyAgent[]> = AllOf<ResourcesOf<Agents[number]>>;

/** The resources by name, each as the live object or as a definition made by `resource()`. */
export type ResourceOption<Needed> = {
  [Name in keyof Named<Needed>]: Needed[Name & keyof Needed] | ResourceDefinition<Needed[Name & keyof Needed]>;
};

/**
 * The option `resources` of a worker or a test: required if a tool lists a resource in the type of its context, with its
 * type. Further resources are allowed. `Provided` names those that are always there.
 */
export type ResourcesOption<Needed, Provided extends string = never> =
  RequiresSomething<Omit<ResourceOption<Needed>, Provided>> extends true
    ? { resources: Omit<ResourceOption<Needed>, Provided> & Resources }
    : { resources?: Omit<ResourceOption<Needed>, Provided> & Resources };

/** The named members of an object type, without its index signature. */
export type Named<Type> = { [Name in keyof Type as string extends Name ? never : number extends Name ? never : Name]: Type[Name] };

/** True if an object of the type must have a member. */
export type RequiresSomething<Type> = Partial<Named<Type>> extends Named<Type> ? false : true;

/** The name of a model. Editors suggest the models with a known list price; the intersection keeps their names in the type. */
export type ProposedModel = PricedModel | (ModelName & {});

/** The model of an agent, or a list of models: if one fails, the next is called. */
export type ModelOption = ProposedModel | readonly ProposedModel[];

/** How the calls of an agent move on from one model of its list to the next. */
export interface FallbackOptions {
  /**
   * The failures after which the next model is called. `default`: the provider or its account cannot serve the call (401, 403, 404, 408,
   * 409, 429, 5xx, no quota, no connection, no answer in time, an unreadable answer). Never a model's refusal, a content filter, or a
   * conversation that is too long.
   */
  on?: 'default' | readonly ErrorCode[];
  /** How long a worker moves a failed model to the end of the list, unless its provider asks for more. Default 30 seconds. */
  coolDown?: Duration;
  /**
   * The longest time that a call waits for the limits of a model (`limits` of the worker) before the next one is called. Default:
   * unlimited.
   */
  maxWait?: Duration;
  /**
   * When the first model is called again. `turn`: with the next turn, so that one model makes all calls of a turn. `call`: with the
   * next call; the tool calls of the other models in the turn are then sent as text. Default `turn`.
   */
  returnAt?: 'turn' | 'call';
}

const FALLBACK_OPTIONS: OptionTable<FallbackOptions> = { on: true, coolDown: true, maxWait: true, returnAt: true };

/** The models of an agent that has several, checked. */
export interface FallbackDefinition {
  /** The models, in the order in which they are called. */
  readonly models: readonly ModelName[];
  /** Absent: the defaults. */
  readonly on?: readonly ErrorCode[];
  /** Milliseconds for which a failed model is moved to the end of the list. */
  readonly coolDownMs?: number;
  /** Milliseconds that a call waits for the limits of a model. */
  readonly maxWaitMs?: number;
  /** Absent: the next turn. */
  readonly returnAt?: 'call';
}

/** The longest time for which a failed model is moved to the end of the list. */
const LONGEST_COOL_DOWN_MS = 24 * 60 * 60 * 1_000;

/** Returns the models of an agent. Throws a UsageError that names the agent and the place in the list. */
export function agentModels(
  owner: string,
  { model, fallback }: { model: unknown; fallback?: FallbackOptions | undefined },
): { model: ModelName; fallback?: FallbackDefinition } {
  if (!Array.isArray(model)) {
    if (fallback !== undefined) {
      throw new UsageError(`${owner} has "fallback" and one model: write a list, model: [${JSON.stringify(model)}, "provider/model"]`);
    }
    return { model: modelName(owner, nonEmpty(`${owner}: "model"`, model)) };
  }
  const models = checkModels(owner, model);
  const policy = fallback === undefined ? {} : checkFallback(owner, fallback);
  const [first] = models;
  if (first === undefined) throw new UsageError(`${owner}: "model" is an empty list: name at least one model`);
  // A list of one model is the same as the model alone.
  return models.length === 1 ? { model: first } : { model: first, fallback: { models, ...policy } };
}

function checkModels(owner: string, given: readonly unknown[]): ModelName[] {
  if (given.length > MOST_MODELS) {
    throw new UsageError(`${owner}: "model" has ${given.length} models, up to "model[${given.length - 1}]": name at most ${MOST_MODELS}`);
  }
  const models = given.map((one, index) => modelName(`${owner}: "model[${index}]"`, nonEmpty(`${owner}: "model[${index}]"`, one)));
  for (const [index, model] of models.entries()) {
    const before = models.indexOf(model);
    if (before === index) continue;
    throw new UsageError(`${owner}: "model[${index}]" is "${model}", and so is "model[${before}]": name each model once`);
  }
  return models;
}

function checkFallback(owner: string, fallback: FallbackOptions): Omit<FallbackDefinition, 'models'> {
  requireKnown(`${owner}: "fallback"`, fallback, FALLBACK_OPTIONS);
  const { on = 'default', coolDown, maxWait, returnAt = 'turn' } = fallback;
  if (returnAt !== 'turn' && returnAt !== 'call') {
    throw new UsageError(`${owner}: "fallback.returnAt" is ${JSON.stringify(returnAt)}: write "turn" or "call"`);
  }
  const coolDownMs =
    coolDown === undefined ? undefined : milliseconds(coolDown, `${owner}: "fallback.coolDown"`, { least: 0, most: LONGEST_COOL_DOWN_MS });
  const maxWaitMs = maxWait === undefined ? undefined : milliseconds(maxWait, `${owner}: "fallback.maxWait"`, { least: 0 });
  return {
    ...(on === 'default' ? {} : { on: checkCodes(owner, on) }),
    ...defined({ coolDownMs, maxWaitMs }),
    ...(returnAt === 'call' ? { returnAt } : {}),
  };
}

function checkCodes(owner: string, codes: unknown): readonly ErrorCode[] {
  const name = `${owner}: "fallback.on`;
  if (!Array.isArray(codes) || codes.length === 0) {
    throw new UsageError(`${name}" is ${JSON.stringify(codes)}: write "default" or a list of codes of errors`);
  }
  for (const [index, code] of (codes as unknown[]).entries()) {
    if (MAY_MOVE_ON.some((known) => known === code)) continue;
    throw new UsageError(
      `${name}[${index}]" is ${JSON.stringify(code)}: write one of ${MAY_MOVE_ON.join(', ')}${didYouMean(String(code), MAY_MOVE_ON)}`,
    );
  }
  return codes as ErrorCode[];
}
