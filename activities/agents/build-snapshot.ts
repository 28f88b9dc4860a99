import { createHash } from 'node:crypto';
import { mayCall, spellingProblem, toolsFor } from '../../src/core/code/callable-tools.ts';
import {
  agentModels,
  type AgentSnapshot,
  type FlowPolicy,
  type OutputSnapshot,
  summaryModelsOf,
  type ToolSnapshot,
  type WindowPolicy,
} from '../../src/core/domain/agent.ts';
import { canonicalJson, defined, type JsonObject, type JsonValue } from '../../src/core/domain/json.ts';
import { narrowLimits, type RunLimits } from '../../src/core/domain/limits.ts';
import type { CodeSnapshot } from '../../src/core/domain/code.ts';
import { FINAL_ANSWER, RUN_CODE } from '../../src/core/domain/tool-calls.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import type { FallbackPolicy } from '../../src/core/domain/fallback.ts';
import { BYTE_BUDGETS, jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import type { ModelCapabilities } from '../../src/core/domain/model.ts';
import type { ModelPrice } from '../../src/core/domain/usage.ts';
import type { AnswerRules } from '../../src/core/domain/program-document.ts';
import type { ContinueAsNewThresholds } from '../../src/core/domain/run.ts';
import type { ResolveAgentInput } from '../../src/core/protocol.ts';
import { agentOfTool, type AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyTool } from '../../src/define/tool-definition.ts';
import { contextTokens, priceOf, type PriceTable } from '../../src/model/models.ts';
import { jsonSchemaOf } from '../../src/schema/zod-schemas.ts';
import { partsOfSnapshot, type PinnedParts } from '../all-parts.ts';
import type { ActivityRuntime } from '../runtime.ts';

/** The facts about a worker that the snapshot of every run pins. */
export interface CommonInputs {
  /** Milliseconds between two heartbeats. */
  heartbeatMs: number;
  /** True if the namespace has Longhaul's search attributes for agent and status. */
  searchAttributes: boolean;
  /** True if the namespace has the search attribute for what a run waits for. */
  waitingForAttribute?: boolean;
  /** The tags that the run was started with. */
  tags?: readonly string[] | undefined;
  /** The run was started with `live: true`. */
  live?: true | undefined;
  /** True if the namespace has the search attribute for tags. */
  tagAttribute?: boolean;
  /** True if the namespace has the search attribute for the start of a run. */
  startedAttribute?: boolean;
  /** Thresholds for continue-as-new, if the worker sets its own. */
  continueAsNew?: ContinueAsNewThresholds | undefined;
  /** True if the run moves to the current build of its worker when it continues as new. */
  upgradeOnContinueAsNew?: boolean;
  /** True if the worker has an archive. */
  archive?: boolean;
  /** True if the worker checks the author of each decision. */
  authorize?: boolean;
  /** True if the worker sends a notice when a call waits for a decision. */
  notify?: boolean;
  /** True if the worker sends a notice when a run has ended. */
  notifyEnded?: boolean;
  /** True if the worker limits the calls of models. */
  governs?: boolean;
  /** The tenant whose share of these limits the run uses. */
  tenantDigest?: string | undefined;
}

/** The inputs of an agent's snapshot in addition to the agent's definition. */
export interface SnapshotInputs extends CommonInputs, LimitOverrides {
  /** The agent's instructions, resolved for the deps of this run. */
  instructions: string[];
  /** The initial values of its code, computed from this run's deps. */
  injected?: JsonObject | undefined;
  /** The capabilities that all models of the agent share. */
  capabilities: ModelCapabilities;
  /** The models of the agent, if it has several. */
  fallback?: FallbackPolicy | undefined;
  /** The tools of the agent's MCP servers. */
  mcpTools?: readonly ToolSnapshot[];
  /** The parts that capabilities pin for this run, in addition to the ones that follow from the agent's definition. */
  parts?: PinnedParts;
  /** The flow that the agent is the first one of. */
  flow?: FlowPolicy | undefined;
  /** Prices of the worker, which take precedence over the list. */
  prices?: PriceTable | undefined;
  /** The checks of the answer, for an `ask` with tools. */
  checks?: AnswerRules;
  /** Milliseconds between two checks that a child is still running. */
  childCheckMs?: number | undefined;
}

/**
 * Builds the snapshot of an agent: plain JSON, pinned for one run. Equal content has an equal digest on every worker. Throws
 * `invalid_input` and `invalid_agent` for limits that cannot be enforced, and for tools that the agent names but does not have.
 */
export function buildSnapshot(agent: AnyAgent, inputs: SnapshotInputs): AgentSnapshot {
  const { instructions, capabilities, heartbeatMs } = inputs;
  const output = outputSnapshot(agent, capabilities);
  const ownTools = agent.tools.map((tool) => ({ ...toolSnapshot(tool), ...(agent.code === undefined ? {} : resultField(tool)) }));
  const parts = partsOfSnapshot(agent, inputs.parts);
  const tools = [...ownTools, ...(inputs.mcpTools ?? []), ...parts.flatMap((part) => part.tools ?? [])];
  requireNamedTools(agent, tools);
  const limits = snapshotLimits(agent, inputs, tools);
  const prices = snapshotPrices(agent, limits, inputs);
  const below = childrenFields(agent, inputs.childCheckMs);
  const content: Omit<AgentSnapshot, 'digest'> = {
    version: 1,
    name: agent.name,
    ...defined({ description: agent.description }),
    instructions,
    model: agent.model,
    ...defined({ fallback: inputs.fallback }),
    tools,
    ...(agent.hosted === undefined ? {} : { hosted: agent.hosted.map(({ id, name, args }) => ({ id, name, args })) }),
    parallel: agent.parallel,
    settings: agent.settings,
    ...defined({ output }),
    ...codeFields(agent, tools, inputs.injected),
    ...defined({ flow: inputs.flow, deps: agent.depsSchema }),
    ...(agent.onUnknownOutcome === 'ask' ? { onUnknownOutcome: 'ask' as const } : {}),
    limits,
    ...below,
    timing: { heartbeatMs, ...modelTiming(agent), ...parkingFields(inputs), ...below.timing },
    ...defined({ approvals: agent.approvals }),
    ...Object.assign({}, ...parts.map(({ fields, fitTools }): Partial<AgentSnapshot> => ({ ...fields, ...fitTools?.(tools) }))),
    ...defined({ prices }),
    window: windowPolicy(agent, capabilities),
    ...defined({ checks: inputs.checks }),
    ...commonFields(inputs),
  };
  return { ...content, digest: snapshotDigest(content) };
}

function modelTiming({ modelTimeoutMs, modelMaxAttempts, modelPatienceMs }: AnyAgent): Omit<AgentSnapshot['timing'], 'heartbeatMs'> {
  return { modelTimeoutMs, modelMaxAttempts, ...defined({ modelPatienceMs }) };
}

/** Returns the field of the timing of a run whose model calls may be parked. */
export function parkingFields({ governs }: Pick<CommonInputs, 'governs'>): Pick<AgentSnapshot['timing'], 'parks'> {
  return governs ? { parks: true } : {};
}

/** The fields of a snapshot that pin facts about the worker. */
type CommonFields = Pick<
  AgentSnapshot,
  | 'authorize'
  | 'notify'
  | 'notifyEnded'
  | 'continueAsNew'
  | 'archive'
  | 'upgradeOnContinueAsNew'
  | 'searchAttributes'
  | 'waitingForAttribute'
  | 'tags'
  | 'tagAttribute'
  | 'startedAttribute'
  | 'tenantDigest'
  | 'live'
>;

/** Returns the fields of a snapshot that pin facts about the worker. */
export function commonFields(inputs: CommonInputs): CommonFields {
  const { searchAttributes, continueAsNew } = inputs;
  return {
    ...(inputs.authorize ? { authorize: true as const } : {}),
    ...(inputs.notify ? { notify: true as const } : {}),
    ...(inputs.notifyEnded ? { notifyEnded: true as const } : {}),
    ...defined({ continueAsNew }),
    ...(inputs.archive ? { archive: true } : {}),
    ...(inputs.upgradeOnContinueAsNew ? { upgradeOnContinueAsNew: true as const } : {}),
    searchAttributes,
    ...(inputs.waitingForAttribute ? { waitingForAttribute: true as const } : {}),
    ...tagFields(inputs),
    ...(inputs.startedAttribute ? { startedAttribute: true as const } : {}),
    ...defined({ tenantDigest: inputs.tenantDigest }),
    ...(inputs.live ? { live: true as const } : {}),
  };
}

/** Returns the fields for tags: none for a run without tags. */
function tagFields({ tags = [], tagAttribute }: CommonInputs): Pick<AgentSnapshot, 'tags' | 'tagAttribute'> {
  if (tags.length === 0) return {};
  return { tags: [...tags], ...(tagAttribute ? { tagAttribute } : {}) };
}

/** The length of a digest: 132 bits in base64url. Every activity input names the snapshot by its digest, so it is kept short. */
const DIGEST_LENGTH = 22;

/** Returns the start of a SHA-256 over the canonical JSON of everything but the digest itself. */
export function snapshotDigest(content: Omit<AgentSnapshot, 'digest'>): string {
  const plain = JSON.parse(JSON.stringify(content)) as JsonValue;
  return createHash('sha256').update(canonicalJson(plain)).digest('base64url').slice(0, DIGEST_LENGTH);
}

/** Returns a tool as it is pinned for a run. */
export function toolSnapshot(tool: AnyTool): ToolSnapshot {
  const { label, updates, approval, answer, callers, category, notExecutable } = tool;
  return {
    name: tool.name,
    ...defined({ version: tool.version, capability: tool.capability }),
    description: tool.description,
    ...defined({ label }),
    parameters: tool.providerSchema,
    strict: tool.strict,
    schema: tool.schema,
    ...defined({ changesArguments: tool.changesArguments }),
    parallel: tool.parallel,
    ...(updates === undefined ? {} : { updates: typeof updates === 'boolean' ? updates : [...updates] }),
    ...tool.policy,
    maxResultBytes: tool.maxResultBytes,
    ...(approval === undefined ? {} : { approval: { ...approval, when: approval.when === 'always' ? 'always' : 'predicate' } }),
    ...defined({ answer }),
    ...(callers === undefined ? {} : { callers: [...callers] }),
    ...defined({ category, notExecutable }),
    ...agentField(tool),
  };
}

function outputSnapshot(agent: AnyAgent, capabilities: ModelCapabilities): OutputSnapshot | undefined {
  if (agent.output === undefined) return undefined;
  const { schema, providerSchema, strict, mode, maxRetries } = agent.output;
  // An answer in a reply format is checked as text: neither the provider nor a tool enforces it.
  const isText = agent.replyFormat !== undefined;
  const chosen = isText ? 'schema' : (mode ?? (capabilities.structuredOutput ? 'schema' : 'final_answer'));
  return { mode: chosen, schema, providerSchema, strict, maxRetries };
}

/**
 * Throws `invalid_agent` if an agent names a tool that it does not have. With MCP servers this could not be checked
 * when the agent was defined.
 */
function requireNamedTools({ name, mcp, settings, limits, output, code }: AnyAgent, tools: readonly ToolSnapshot[]): void {
  if (mcp === undefined) return;
  const { toolChoice } = settings;
  const chosen = typeof toolChoice === 'object' && 'tool' in toolChoice ? [toolChoice.tool] : [];
  const built = [...(output === undefined ? [] : [FINAL_ANSWER]), ...(code === undefined ? [] : [RUN_CODE])];
  const named: [option: string, named: string[], known: readonly ToolSnapshot[]][] = [
    ['settings.toolChoice', chosen.filter((tool) => !built.includes(tool)), toolsFor('model', { tools })],
    ['limits.toolCallsByName', Object.keys(limits.toolCallsByName ?? {}), tools],
  ];
  for (const [option, names, known] of named) {
    const missing = names.find((one) => !known.some((tool) => tool.name === one));
    if (missing === undefined) continue;
    throw new LonghaulError(
      'invalid_agent',
      `"${option}" of agent "${name}" names the tool "${missing}", which neither it nor an MCP server of it has (it has: ${namesOf(known)})`,
    );
  }
}

function namesOf(tools: readonly ToolSnapshot[]): string {
  return tools.map(({ name }) => `"${name}"`).join(', ') || 'none';
}

const DEFAULT_MAX_BYTES = 1_000_000;
const DEFAULT_KEEP_RESULTS = 4;

/** The share of a model's context that stays free for its answer if the agent does not limit the answer. */
const ANSWER_SHARE = 0.125;

/** The share of the remaining tokens that may be used: tokens are estimated between two calls. */
const USED_SHARE = 0.9;

/** Returns how far the window of an agent may grow: the agent's own setting, otherwise what the smallest of its models accepts. */
export function windowPolicy({ window, model, settings }: AnyAgent, capabilities: ModelCapabilities): WindowPolicy {
  const context = contextTokens(model, capabilities);
  const answer = Math.min(settings.maxOutputTokens ?? context * ANSWER_SHARE, context / 2);
  return {
    maxTokens: Math.floor((context - answer) * USED_SHARE),
    maxBytes: DEFAULT_MAX_BYTES,
    keepResults: DEFAULT_KEEP_RESULTS,
    summarize: true,
    ...defined(window),
  };
}

/** Returns the field of a pinned tool that names the agent that it runs. */
function agentField(tool: AnyTool): Pick<ToolSnapshot, 'agent'> {
  if (tool.agent === undefined) return {};
  const { name, share, limits, final, branch, request, kept } = tool.agent;
  const isLeaf = agentOfTool(tool)?.tools.every(({ agent }) => agent === undefined) === true;
  return {
    agent: {
      name,
      share: [...share],
      ...defined({ limits, final, branch, request, kept }),
      ...(isLeaf ? { leaf: true as const } : {}),
    },
  };
}

/** Returns the fields of a snapshot for the descendants: none for an agent that starts none. */
function childrenFields(
  { tools, children }: AnyAgent,
  childCheckMs: number | undefined,
): { children?: NonNullable<AgentSnapshot['children']>; timing: Pick<AgentSnapshot['timing'], 'childCheckMs'> } {
  if (tools.every(({ agent }) => agent === undefined)) return { timing: {} };
  return { ...defined({ children }), timing: defined({ childCheckMs }) };
}

/**
 * Returns the fields of a snapshot that concern code: none for an agent without it. Throws `invalid_agent` if code has no tool, or one
 * whose name it cannot call. With MCP servers this could not be checked when the agent was defined.
 */
function codeFields(
  { name, code, replyFormat }: AnyAgent,
  tools: readonly ToolSnapshot[],
  injected?: JsonObject,
): Pick<AgentSnapshot, 'code' | 'replyFormat'> {
  if (code !== undefined) requireCodeTools(name, code.executor.language, tools);
  if (replyFormat !== undefined && tools.length === 0) {
    throw new LonghaulError('invalid_agent', `Agent "${name}" requires at least one tool: its MCP servers have none`);
  }
  return {
    ...(code === undefined ? {} : { code: codeSnapshot(code, injected) }),
    ...defined({ replyFormat }),
  };
}

/**
 * Returns the schema of the values that a tool returns, for its signature: none if JSON Schema cannot express it, or if only the model may
 * call the tool.
 */
function resultField(tool: AnyTool): Pick<ToolSnapshot, 'result'> {
  if (tool.result === undefined || !mayCall('code', tool)) return {};
  try {
    return { result: jsonSchemaOf(tool.result, `tool "${tool.name}": result`, 'output') };
  } catch {
    return {};
  }
}

function codeSnapshot({ executor, tier, prune }: NonNullable<AnyAgent['code']>, injected: JsonObject | undefined): CodeSnapshot {
  const { kind, language, limits, allowedImports } = executor;
  return {
    executor: { kind, language, limits: { ...limits }, allowedImports: [...allowedImports] },
    tier,
    ...defined({ injected }),
    ...(prune === undefined ? {} : { prune: { ...prune } }),
  };
}

function requireCodeTools(agent: string, language: CodeSnapshot['executor']['language'], tools: readonly ToolSnapshot[]): void {
  const callable = tools.filter((tool) => mayCall('code', tool));
  if (callable.length === 0) {
    throw new LonghaulError(
      'invalid_agent',
      `Agent "${agent}" requires at least one tool that its code may call, and neither it nor an MCP server of it has one`,
    );
  }
  for (const tool of callable) {
    const problem = spellingProblem(tool.name, language);
    if (problem === undefined) continue;
    throw new LonghaulError('invalid_agent', `Code of agent "${agent}" cannot call the tool "${tool.name}" by this name: ${problem}`);
  }
}

/** The limits that a run is started with. */
type LimitOverrides = Pick<ResolveAgentInput, 'limits' | 'left' | 'priced'>;

/**
 * Returns the limits of a run: the agent's, overridden by the limits of the start, and none above the rest of the parent's limits. Throws
 * `invalid_input` for a limit of a tool that is not among `tools`.
 */
function snapshotLimits(
  { name, limits }: AnyAgent,
  { limits: overrides = {}, left }: LimitOverrides,
  tools: readonly Pick<ToolSnapshot, 'name'>[],
): RunLimits {
  for (const tool of Object.keys(overrides.toolCallsByName ?? {})) {
    if (tools.some((one) => one.name === tool)) continue;
    const known = tools.map((one) => `"${one.name}"`).join(', ') || 'none';
    throw new LonghaulError(
      'invalid_input',
      `"limits.toolCallsByName" names the tool "${tool}", which agent "${name}" does not have (it has: ${known})`,
    );
  }
  const toolCallsByName = { ...limits.toolCallsByName, ...overrides.toolCallsByName };
  const own: RunLimits = {
    ...limits,
    ...overrides,
    ...(Object.keys(toolCallsByName).length === 0 ? {} : { toolCallsByName }),
  };
  return narrowLimits(own, left);
}

/** The worker's prices in addition to the list, and whether the prices of all models must be known. */
interface PriceTerms {
  prices?: PriceTable | undefined;
  /** The session of the agent has a limit in dollars. */
  priced?: true | undefined;
}

/**
 * Returns the known prices of the models that a run may call. Throws `invalid_agent` if the run or its session has a limit in dollars
 * and the price of a model is unknown: the limit could not be enforced.
 */
function snapshotPrices(agent: AnyAgent, limits: RunLimits, terms: PriceTerms): Record<string, ModelPrice> | undefined {
  return pricesOf(modelsOf(agent, terms.priced === true), limits, terms, (unenforced, model) => {
    const owner = limits.costUsd === undefined ? `of the session of agent "${agent.name}"` : `of agent "${agent.name}"`;
    return new LonghaulError(
      'invalid_agent',
      `${unenforced(owner)}. Give it to the worker, in US dollars per million tokens: prices: {'${model}': {input: …, output: …}}`,
    );
  });
}

/** Creates the error for a limit in dollars that cannot be enforced, from its owner and the model with the unknown price. */
type UnknownPriceError = (unenforced: (owner: string) => string, model: string) => LonghaulError;

/** Returns the known prices of models; undefined if there are none. Throws if a limit in dollars needs an unknown price. */
export function pricesOf(
  models: readonly string[],
  { costUsd }: RunLimits,
  { prices: overrides = {}, priced }: PriceTerms,
  errorOf: UnknownPriceError,
): Record<string, ModelPrice> | undefined {
  const prices: Record<string, ModelPrice> = {};
  for (const model of models) {
    const price = priceOf(model, overrides);
    if (price !== undefined) prices[model] = price;
    else if (costUsd !== undefined || priced) {
      throw errorOf((owner) => `The limit "costUsd" ${owner} cannot be enforced: the price of model "${model}" is not known`, model);
    }
  }
  return Object.keys(prices).length === 0 ? undefined : prices;
}

/** Returns the models that a run may call. The model for summaries also gives a session its title. */
function modelsOf(agent: AnyAgent, isSession: boolean): string[] {
  const own = agentModels(agent);
  return agent.window.summarize !== false || isSession ? [...new Set([...own, ...summaryModelsOf(agent)])] : own;
}

/** The facts about a worker that a snapshot pins. */
type WorkerFacts = Pick<
  CommonInputs,
  'authorize' | 'notify' | 'notifyEnded' | 'continueAsNew' | 'archive' | 'upgradeOnContinueAsNew' | 'heartbeatMs'
> & { prices: PriceTable };

/** Returns the facts about a worker that the snapshots of its agents and programs pin. */
export function workerFacts(runtime: ActivityRuntime): WorkerFacts {
  const { heartbeatMs, prices, continueAsNew, upgradeOnContinueAsNew } = runtime;
  return {
    heartbeatMs,
    authorize: runtime.authorize !== undefined,
    notify: runtime.notify !== undefined,
    notifyEnded: runtime.notifyEnded !== undefined,
    prices,
    continueAsNew,
    archive: runtime.archive !== undefined,
    ...(runtime.governor === undefined ? {} : { governs: true }),
    upgradeOnContinueAsNew,
  };
}

/** Throws `payload_too_large` for a snapshot over its budget, with the names of the agent and of its largest part. */
export function checkSnapshotSize(snapshot: AgentSnapshot): void {
  const bytes = jsonBytes(snapshot);
  if (bytes <= BYTE_BUDGETS.snapshot) return;
  const parts: [what: string, bytes: number][] = [
    ['instructions', jsonBytes(snapshot.instructions)],
    ['output schema', jsonBytes(snapshot.output ?? null)],
    ['settings', jsonBytes(snapshot.settings)],
    ...bytesOfTools(snapshot.tools),
  ];
  const [what, most] = parts.toSorted(([, a], [, b]) => b - a)[0] ?? ['', 0];
  throw new LonghaulError(
    'payload_too_large',
    `Agent "${snapshot.name}" is ${bytes} bytes of JSON, over ${BYTE_BUDGETS.snapshot}; most of it is its ${what} (${most} bytes): shorten that, take fewer tools of a server, or let tools look things up.`,
  );
}

/** Returns the bytes of each tool, and the sum for all tools of one MCP server. */
function bytesOfTools(tools: readonly ToolSnapshot[]): [what: string, bytes: number][] {
  const parts = new Map<string, number>();
  for (const tool of tools) {
    const what = tool.mcp === undefined ? `tool "${tool.name}"` : `tools of MCP server "${tool.mcp.server}"`;
    parts.set(what, (parts.get(what) ?? 0) + jsonBytes(tool));
  }
  return [...parts];
}
