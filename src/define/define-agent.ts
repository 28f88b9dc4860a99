import type { z } from 'zod';
import type { ModelSettings, ReplyFormat } from '../core/domain/agent.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import {
  checkAmounts,
  type ChildrenOptions,
  DEFAULT_STEPS,
  type LimitOptions,
  MAX_TREE_DEPTH,
  plainLimits,
  type RunLimits,
} from '../core/domain/limits.ts';
import type { DefaultOutput } from '../core/domain/result.ts';
import { type Duration, milliseconds, timerMilliseconds } from '../core/domain/time.ts';
import { isObjectSchema, providerSchema, toStrictJsonSchema, toStrictPart } from '../schema/strict-json-schema.ts';
import { jsonSchemaOf } from '../schema/zod-schemas.ts';
import {
  type AgentDefinition,
  agentModels,
  checkWindow,
  type FallbackOptions,
  type Instructions,
  type ModelOption,
  type OutputDefinition,
  type ResourcesOfTools,
  type WindowOptions,
} from './agent-definition.ts';
import { checkToolsOfParts, defineParts, PART_OPTIONS, type PartOptions, toolNamesOfParts } from './all-parts.ts';
import { agentApprovals, type ApprovalDeadlineOptions } from './approvals.ts';
import {
  type AnyCapability,
  checkDeps,
  checkInstructions,
  checkTools,
  type DepsFor,
  type GivenDepsFor,
  mergeCapabilities,
  type ResourcesOfCapabilities,
  type ToolsFor,
} from './capabilities.ts';
import { agentCode, type CodeOptions } from './code.ts';
import { agentHandoffs, type HandoffOption, transferToolName } from './handoffs.ts';
import { checkMcpServers } from './mcp.ts';
import { checkSettings, namesForModel } from './model-settings.ts';
import { nonEmpty, type OptionReference, requireKnown, requireZod, wholeNumber } from './option-checks.ts';
import { type AnyTool, type HostedToolDefinition, isHostedTool, type McpServerDefinition, type NamesOfTools } from './tool-definition.ts';

/** The options of `defineAgent`, as the page of options describes them, in the order in which errors list them. */
export const AGENT_OPTIONS: OptionReference<AgentOptions<never, never>> = {
  name: ['text', 'required', 'names the agent for clients, events and the Temporal UI'],
  model: [
    "`'provider/model'`, or a list of up to 8",
    'required',
    'the provider is a name in `providers` of the worker; the rest is its model. [In a list](fallback.md), the next model is called if one fails',
  ],
  fallback: [
    '`{ on, coolDown, returnAt }`',
    "`{ on: 'default', coolDown: '30s', returnAt: 'turn' }`",
    'how calls [move on](fallback.md) from one model of the list to the next',
  ],
  instructions: [
    'text, list of texts, or function of the deps',
    'a general instruction',
    'what the model reads first. A function is called once for each run, in an activity',
  ],
  tools: ['list of [tools](tools.md)', 'none', 'the tools that the model may call'],
  mcp: ['list of `mcpServer(…)`', 'none', '[MCP servers](mcp.md) whose tools it also has'],
  capabilities: [
    'list of `defineCapability(…)`',
    'none',
    '[bundles](capabilities.md) of tools, instructions, rules and checks, merged into the options of the agent',
  ],
  deps: [
    'zod object',
    'any JSON object',
    'the schema of the data of a run, which a start gives as `deps`. A field without a default makes `deps` a required option of the start',
  ],
  output: ['zod schema', 'text', 'the schema of the [answer](limits.md#structured-answers-instructions-and-input-parts)'],
  outputMode: ["`'schema'`, `'final_answer'`", 'what the provider can', 'the provider enforces the schema, or the model answers by a tool'],
  outputRetries: ['number', '2', 'how often an invalid answer goes back to the model'],
  code: ['`{ executor, … }`', 'none', 'the model may [run code](code.md) that calls the tools'],
  replyFormat: ["`'code'`, `'json'`", 'text and tool calls', 'the [form of the answers](reply-formats.md), for models without tool calls'],
  description: ['text', 'none', 'describes the agent to the models of agents that may hand over to it or call it'],
  handoffs: ['list of agents or names', 'none', 'the agents that it may [hand the run over](handoffs.md) to'],
  maxHandoffs: ['number', '10', 'handoffs of a run that begins with it; in a session, of each turn'],
  settings: ['object', "the provider's", 'settings of the model: [below](#settings)'],
  window: ['object', 'the context size of the model', 'the size of the conversation: [below](#window)'],
  finalAttempt: ['boolean', '`false`', 'after the last step the model is asked once more for its best answer'],
  limits: ['object', '`{ steps: 10 }`', 'the [limits](talking.md#limits) of a run: [below](#limits)'],
  children: ['`{ depth, alive, perTree }`', '3, 20, 200', 'the limits of the runs that [agents as tools](sub-agents.md) start'],
  onLimit: ["`'stop'`, `'ask'`", "`'stop'`", 'at a limit the run ends, or a person may raise it'],
  approvals: ['`{ deadline, onDeadline }`', 'no deadline', 'the deadline of [decisions](talking.md#approvals), if the tool sets none'],
  ...PART_OPTIONS,
  onUnknownOutcome: [
    "`'report'`, `'ask'`",
    "`'report'`",
    "what happens to a call with [`effect: 'once'`](tools.md) whose outcome is unknown",
  ],
  parallel: ['boolean', '`true`', '`false`: the calls of one answer run in order, one at a time'],
  modelTimeout: ['Duration', '`10m`', 'one attempt of a model call; of a list, one attempt of each model'],
  modelMaxAttempts: ['number', '8', 'attempts of a model call that fail for other reasons than a refusal'],
  modelPatience: [
    'Duration, at most `5d`',
    '`10m`',
    'the time for which a [refused](providers.md#refusals) call is retried; `0` counts refusals as attempts',
  ],
};

/** The type of an agent with these options. */
export type DefinedAgent<
  Output extends z.ZodType,
  Deps extends z.ZodType,
  Tools extends readonly (AnyTool | HostedToolDefinition)[],
  FinalAttempt extends boolean,
  Capabilities extends readonly AnyCapability[],
> = AgentDefinition<
  OutputFor<Output>,
  DepsFor<Deps, Capabilities>,
  GivenDepsFor<Deps, Capabilities>,
  ResourcesOfTools<Tools, ResourcesOfCapabilities<Capabilities>>,
  UnfinishedFor<Output, FinalAttempt>
>;

/** The instructions of an agent that sets none. */
const DEFAULT_INSTRUCTIONS =
  "You are a helpful AI assistant. Solve the user's request with the tools you are given, and think step by step.";

/**
 * Defines an agent. Throws a `UsageError` that names the agent, the option and the path if an option cannot work, such as a model
 * without a provider, two tools with the same name, limits below 1, schemas that JSON cannot represent, or code that can call no tool.
 *
 * @example
 * const researcher = defineAgent({
 *   name: 'researcher',
 *   model: 'openai/gpt-5',
 *   instructions: 'Answer with sources.',
 *   tools: [search],
 *   output: z.object({ answer: z.string(), sources: z.array(z.url()) }),
 * });
 */
export function defineAgent<
  Output extends z.ZodType = never,
  Deps extends z.ZodType = never,
  const Tools extends ToolsFor<Deps, Capabilities> = readonly [],
  FinalAttempt extends boolean = false,
  const Capabilities extends readonly AnyCapability[] = readonly [],
>(asked: AgentOptions<Output, Deps, Tools, FinalAttempt, Capabilities>): DefinedAgent<Output, Deps, Tools, FinalAttempt, Capabilities> {
  const owner = `agent "${checkName(asked.name)}"`;
  requireKnown(owner, asked, AGENT_OPTIONS);
  const merged = mergeCapabilities(owner, { ...asked, instructions: asked.instructions ?? DEFAULT_INSTRUCTIONS });
  const { tools, hosted } = toolsByKind(owner, merged.tools === undefined ? [] : merged.tools);
  const options = { ...merged, tools };
  const mcp = checkMcpServers(owner, options.mcp === undefined ? [] : options.mcp);
  const parts = defineParts(owner, options);
  const builtIn = toolNamesOfParts(parts);
  const handoffs = agentHandoffs(owner, options);
  // The tools of MCP servers are known, and checked, when a run starts.
  const toolNames = mcp.length > 0 ? undefined : [...tools.map((tool) => tool.name), ...transferToolName(options), ...builtIn];
  const { code, replyFormat } = agentCode(owner, options, { tools, hasMcpServers: mcp.length > 0 });
  if (toolNames !== undefined) checkToolsOfParts(owner, parts, [...toolNames, ...(hosted ?? []).map(({ name }) => name)]);
  const approvals = agentApprovals(owner, options.approvals);
  const depsSchema = options.deps === undefined ? undefined : checkDeps(owner, options.deps);
  const output = options.output === undefined ? undefined : defineOutput(owner, { ...options, output: options.output });
  return {
    kind: 'longhaul.agent',
    name: options.name,
    ...agentModels(owner, options),
    instructions: checkInstructions(owner, options.instructions),
    tools,
    ...(mcp.length === 0 ? {} : { mcp }),
    ...(options.deps === undefined || depsSchema === undefined ? {} : { deps: options.deps, depsSchema }),
    onUnknownOutcome: checkOnUnknownOutcome(owner, options.onUnknownOutcome ?? 'report'),
    ...defined({ hosted, output, code, replyFormat }),
    ...handoffs,
    ...parts,
    settings: checkSettings(owner, options.settings ?? {}, {
      tools: mcp.length > 0 ? undefined : [...namesForModel({ tools, code, ...handoffs }), ...builtIn],
      output,
    }),
    window: checkWindow(owner, options.window ?? {}),
    limits: agentLimits(owner, options, { tools: toolNames, steps: replyFormat === 'code' ? code?.executor.limits.maxSteps : undefined }),
    ...(options.children === undefined ? {} : { children: childrenOptions(owner, options.children) }),
    ...defined({ approvals }),
    parallel: options.parallel ?? true,
    modelTimeoutMs: timerMilliseconds(options.modelTimeout ?? '10m', `${owner}: "modelTimeout"`),
    modelMaxAttempts: wholeNumber(`${owner}: "modelMaxAttempts"`, options.modelMaxAttempts ?? 8, 1),
    ...(options.modelPatience === undefined ? {} : { modelPatienceMs: patienceMs(owner, options.modelPatience) }),
  };
}

/** Returns the agent's own tools and the hosted ones. Throws a UsageError for a value that is not a tool, and for duplicate names. */
function toolsByKind(owner: string, given: readonly (AnyTool | HostedToolDefinition)[]): Pick<AgentDefinition, 'tools' | 'hosted'> {
  checkTools(owner, given);
  const hosted = given.filter(isHostedTool);
  return { tools: given.filter((tool) => !isHostedTool(tool)), ...(hosted.length === 0 ? {} : { hosted }) };
}

/** Less than a week, after which the server ends the activity. */
const LONGEST_PATIENCE_MS = 5 * 24 * 60 * 60 * 1_000;

function patienceMs(owner: string, patience: Duration): number {
  return milliseconds(patience, `${owner}: "modelPatience"`, { least: 0, most: LONGEST_PATIENCE_MS });
}

function checkName(name: unknown): string {
  const text = nonEmpty('the "name" of an agent', name);
  if (text.length <= 100 && !/[\p{Cc}\p{Cs}]/u.test(text)) return text;
  throw new UsageError(`agent ${JSON.stringify(text.slice(0, 100))}: a name is one line of at most 100 characters`);
}

function checkOnUnknownOutcome(owner: string, choice: 'report' | 'ask'): 'report' | 'ask' {
  if (choice === 'report' || choice === 'ask') return choice;
  throw new UsageError(`${owner}: "onUnknownOutcome" is ${JSON.stringify(choice)}: write "report" or "ask"`);
}

/** Returns the limits of an agent's descendant runs. Throws a UsageError for one that is unknown or out of range. */
function childrenOptions(owner: string, options: ChildrenOptions): ChildrenOptions {
  requireKnown(`${owner}: "children"`, options, { depth: true, alive: true, perTree: true });
  const { depth, alive, perTree } = options;
  if (depth !== undefined && wholeNumber(`${owner}: "children.depth"`, depth, 0) > MAX_TREE_DEPTH) {
    throw new UsageError(`${owner}: "children.depth" is ${depth}: write at most ${MAX_TREE_DEPTH}`);
  }
  return {
    ...defined({ depth }),
    ...(alive === undefined ? {} : { alive: wholeNumber(`${owner}: "children.alive"`, alive, 1) }),
    ...(perTree === undefined ? {} : { perTree: wholeNumber(`${owner}: "children.perTree"`, perTree, 1) }),
  };
}

/** The agent options for the answer. */
interface OutputOptions {
  output: z.ZodType;
  outputMode?: 'schema' | 'final_answer';
  outputRetries?: number;
}

/**
 * Checks the options of a structured answer. The parsed value is stored as JSON, so the schema has to be JSON on both
 * sides. Providers enforce object schemas only; any other answer comes as the argument of a `final_answer` tool.
 */
function defineOutput(owner: string, options: OutputOptions): OutputDefinition {
  const { output, outputMode, outputRetries } = options;
  requireZod(`${owner}: "output"`, output);
  const schema = jsonSchemaOf(output, `${owner}: output`);
  jsonSchemaOf(output, `${owner}: output`, 'output');
  const isObject = isObjectSchema(schema);
  if (outputMode !== undefined && outputMode !== 'schema' && outputMode !== 'final_answer') {
    throw new UsageError(`${owner}: "outputMode" is ${JSON.stringify(outputMode)}: write "schema" or "final_answer"`);
  }
  if (outputMode === 'schema' && !isObject) {
    throw new UsageError(
      `${owner}: output is not an object schema, which "outputMode": "schema" needs: write z.object({...}) or leave the mode out`,
    );
  }
  const conversion = isObject ? toStrictJsonSchema(schema) : toStrictPart(schema);
  return {
    zod: output,
    schema,
    ...providerSchema(`${owner}: output`, schema, conversion, undefined),
    mode: isObject ? outputMode : 'final_answer',
    maxRetries: wholeNumber(`${owner}: "outputRetries"`, outputRetries ?? 2, 0),
  };
}

/** The agent options for limits. */
interface AgentLimitOptions {
  finalAttempt?: boolean;
  limits?: LimitOptions;
  onLimit?: 'stop' | 'ask';
}

/** The facts about an agent that its limits depend on. */
interface LimitContext {
  /** The names of its tools. Undefined if they are not known yet. */
  tools: readonly string[] | undefined;
  /** The limit of steps if the agent sets none. Default 10. */
  steps?: number | undefined;
}

/**
 * Returns the limits of an agent, with defaults. Throws a UsageError that names the agent and the option if a limit is not a
 * number, is below the minimum, or names a tool that the agent does not have.
 */
function agentLimits(owner: string, options: AgentLimitOptions, { tools, steps = DEFAULT_STEPS }: LimitContext): RunLimits {
  const { finalAttempt = false, limits = {}, onLimit = 'stop' } = options;
  if (onLimit !== 'stop' && onLimit !== 'ask') {
    throw new UsageError(`${owner}: "onLimit" is ${JSON.stringify(onLimit)}: write "stop" or "ask"`);
  }
  const plain = plainLimits(owner, limits);
  checkLimits(owner, limits, tools);
  return {
    steps,
    finalAttempt,
    ...plain,
    ...(onLimit === 'ask' ? { onLimit } : {}),
  };
}

function checkLimits(owner: string, limits: LimitOptions, tools: readonly string[] | undefined): void {
  checkAmounts(owner, limits);
  for (const [tool, calls] of Object.entries(limits.toolCallsByName ?? {})) {
    wholeNumber(`${owner}: "limits.toolCallsByName.${tool}"`, calls, 0);
    if (tools === undefined || tools.includes(tool)) continue;
    throw new UsageError(
      `${owner}: "limits.toolCallsByName" names the tool "${tool}", which the agent does not have (it has: ${tools.join(', ') || 'none'})`,
    );
  }
}

/** The type of an agent's answer: the output of its output schema, or text (or parts, if it has media) without one. */
export type OutputFor<Output extends z.ZodType> = [Output] extends [never] ? DefaultOutput : z.output<Output>;

/** The type of the output of a run that did not complete: text, or with a final attempt possibly the answer of that attempt. */
export type UnfinishedFor<Output extends z.ZodType, FinalAttempt extends boolean> = FinalAttempt extends false
  ? string
  : OutputFor<Output> | string;

/** The options of `defineAgent`. */
export interface AgentOptions<
  Output extends z.ZodType,
  Deps extends z.ZodType,
  Tools extends readonly (AnyTool | HostedToolDefinition)[] = ToolsFor<Deps>,
  FinalAttempt extends boolean = boolean,
  Capabilities extends readonly AnyCapability[] = readonly AnyCapability[],
> extends PartOptions<NamesOfTools<Tools>> {
  /** Names the agent for clients, events and the Temporal UI. */
  name: string;
  /**
   * `provider/model`, split at the first slash: the provider is a name of the worker's `providers`. A list of up to 8 models: when one
   * fails, the call goes to the next.
   */
  model: ModelOption;
  /** How calls move on from one model of the list to the next. Only with a list. */
  fallback?: FallbackOptions;
  /** The instructions, which the model reads first. Default: a short general instruction. */
  instructions?: Instructions<DepsFor<Deps, Capabilities>>;
  /**
   * The tools of the agent, each with its own name, including tools that its provider runs (`hosted`). A tool that reads deps fits only an
   * agent whose deps have them.
   */
  tools?: Tools;
  /** MCP servers whose tools the agent also has. The tools are listed when a run starts. Each server has its own name. */
  mcp?: readonly McpServerDefinition[];
  /**
   * Bundles of instructions, tools, rules and more, made by `defineCapability`. They are merged, in order, after the agent's own
   * options.
   */
  capabilities?: Capabilities;
  /** The schema of the run's JSON data, which is checked when a run starts. */
  deps?: Deps;
  /** The schema of the answer. Without it the answer is text. */
  output?: Output;
  /** How the answer is obtained. Default: enforced by the provider if possible, else by a `final_answer` tool. */
  outputMode?: 'schema' | 'final_answer';
  /** The number of times that an invalid answer goes back to the model. Default 2. */
  outputRetries?: number;
  /**
   * Lets the model run code that calls the agent's tools: it has the tool `run_code`. The code runs isolated, each call in it is
   * recorded and may wait for a decision like any other, and its variables stay until the run ends.
   */
  code?: CodeOptions<DepsFor<Deps, Capabilities>>;
  /**
   * The form of the model's answers, for models without tool calls. `code`: one block of code, which `code` must be able to run.
   * `json`: an object with `tool` and `arguments`, or with `answer`. Default: text and tool calls.
   */
  replyFormat?: ReplyFormat;
  /** Describes the agent to the models of other agents, which decide by it when to hand over or call it. */
  description?: string;
  /**
   * The agents that it may hand a run over to, with the tool `transfer_to_agent`. The next agent continues the same conversation. Write
   * the agent, or its name if two agents hand over to each other. The worker must have all of them.
   */
  handoffs?: HandoffOption;
  /** The most handoffs of a run, or of each turn of a session, that begins with the agent. Default 10. */
  maxHandoffs?: number;
  /** Settings of its model calls, such as `temperature`. */
  settings?: ModelSettings;
  /** The size to which the conversation may grow before its older part is compacted. */
  window?: WindowOptions;
  /** True to call the model once more after the last step for its best answer, without tools. Default false. */
  finalAttempt?: FinalAttempt;
  /** The limits of a run: steps (default 10; with `replyFormat: 'code'` the `maxSteps` of the executor), tool calls, tokens, dollars, time. Checked before each call. */
  limits?: LimitOptions;
  /** The limits of the runs that `agentTool` tools start: how deep, how many alive, how many in all. Descendants can only narrow them. */
  children?: ChildrenOptions;
  /** The action at any limit, steps included: the run ends, or waits for a person to raise the limit. Default `stop`. */
  onLimit?: 'stop' | 'ask';
  /**
   * The time that calls, questions and limits wait for a decision if the tool does not set it. Default: unlimited.
   * `onDeadline: 'approve'` applies to calls only: questions and limits are always rejected at their deadline.
   */
  approvals?: ApprovalDeadlineOptions;
  /**
   * The action for a call with `effect: 'once'` whose outcome is unknown. `report`: the model reads that it is unknown. `ask`:
   * the run waits for a person to enter the result of the call, within the deadline of `approvals`. Default `report`.
   */
  onUnknownOutcome?: 'report' | 'ask';
  /** False to run the calls of one response in order, one at a time. Default true. */
  parallel?: boolean;
  /** The time limit of one attempt of a model call. Default 10 minutes. */
  modelTimeout?: Duration;
  /**
   * The number of attempts of a model call, the first one included. Attempts that the provider refuses (429, 5xx) do not count: they are
   * bounded by `modelPatience`. Default 8.
   */
  modelMaxAttempts?: number;
  /**
   * How long a model call is retried while the provider refuses it (429, 5xx, overloaded), from its first attempt on. A provider
   * that asks for a longer wait ends the call at once. With 0, such attempts count like any others. At most 5 days. Default 10 minutes.
   */
  modelPatience?: Duration;
}
