import { createHash } from 'node:crypto';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';
import { toolsFor } from '../../src/core/code/callers.ts';
import type { AnswerRules } from '../../src/core/domain/program/answer-rules.ts';
import type { AgentSnapshot, OutputSnapshot, ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { ContinueAsNewThresholds } from '../../src/core/domain/run/continue-as-new.ts';
import { canonicalJson, type JsonObject, type JsonValue } from '../../src/core/domain/json/json.ts';
import type { ModelCapabilities } from '../../src/core/domain/model/model.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import { memoryTools } from '../../src/core/domain/memory/memory-tools.ts';
import { FINAL_ANSWER, RUN_CODE } from '../../src/core/domain/content/tool-text.ts';
import type { FlowPolicy } from '../../src/core/domain/flows/flow-policy.ts';
import type { TransferTarget } from '../../src/core/domain/handoffs/transfer-tool.ts';
import type { HookRecord } from '../../src/core/domain/hooks/hook-record.ts';
import type { HookSnapshot } from '../../src/core/domain/hooks/hook-snapshot.ts';
import type { Permissions } from '../../src/core/domain/permissions/permissions.ts';
import type { PriceTable } from '../../src/model/prices.ts';
import { agentField, childrenFields } from './agent-of-tool.ts';
import { codeFields, resultField } from './code-fields.ts';
import type { SkillFields } from '../skills/skill-fields.ts';
import { snapshotGuardrails } from '../guardrails/snapshot-guardrails.ts';
import { handoffFields } from '../handoffs/handoff-fields.ts';
import { permissionFields } from './permission-fields.ts';
import { type LimitOverrides, snapshotLimits, snapshotPrices } from './snapshot-limits.ts';
import { windowPolicy } from './window-policy.ts';

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
}

/** Everything that the snapshot of an agent needs besides the agent's definition. */
export interface SnapshotInputs extends CommonInputs, LimitOverrides {
  /** The agent's instructions, resolved for the deps of this run. */
  instructions: string[];
  /** The values that its code has from the start, by the deps of this run. */
  injected?: JsonObject | undefined;
  capabilities: ModelCapabilities;
  /** The tools of the agent's MCP servers. */
  mcpTools?: readonly ToolSnapshot[];
  /** The skills of the agent, as they are pinned for this run. */
  skills?: Pick<SkillFields, 'fields' | 'tools'>;
  /** The agents that it may hand over to, as the worker has them. */
  handoffs?: readonly TransferTarget[];
  /** The flow that the agent is the first one of. */
  flow?: FlowPolicy | undefined;
  /** Prices of the worker, which take precedence over the list. */
  prices?: PriceTable | undefined;
  /** The policies that hold besides those of the agent. */
  permissions?: readonly Permissions[];
  /** The hooks of the agent in this run. */
  hooks?: readonly HookSnapshot[];
  /** The answers of the hooks at the start of the run. */
  hookRecords?: readonly HookRecord[];
  /** The checks of the answer, for an `ask` with tools. */
  checks?: AnswerRules;
  /** Milliseconds between two checks that a child is alive. */
  childCheckMs?: number | undefined;
}

/**
 * Builds the snapshot of an agent: plain JSON, pinned for one run. Equal content has an equal digest on every worker.
 * Throws `invalid_input` and `invalid_agent` for limits that cannot be enforced, and for tools that the agent names and
 * does not have.
 */
export function buildSnapshot(agent: AnyAgent, inputs: SnapshotInputs): AgentSnapshot {
  const { instructions, capabilities, heartbeatMs } = inputs;
  const output = outputSnapshot(agent, capabilities);
  const ownTools = agent.tools.map((tool) => ({ ...toolSnapshot(tool), ...(agent.code === undefined ? {} : resultField(tool)) }));
  const handoffs = handoffFields(agent, inputs.handoffs);
  const tools = [...ownTools, ...(inputs.mcpTools ?? []), ...(inputs.skills?.tools ?? []), ...memoryTools(agent.memory), ...handoffs.tools];
  requireNamedTools(agent, tools);
  const limits = snapshotLimits(agent, inputs, tools);
  const prices = snapshotPrices(agent, limits, inputs);
  const below = childrenFields(agent, inputs.childCheckMs);
  const content: Omit<AgentSnapshot, 'digest'> = {
    version: 1,
    name: agent.name,
    ...(agent.description === undefined ? {} : { description: agent.description }),
    instructions,
    model: agent.model,
    tools,
    parallel: agent.parallel,
    settings: agent.settings,
    ...(output === undefined ? {} : { output }),
    ...codeFields(agent, tools, inputs.injected),
    ...handoffs.fields,
    ...inputs.skills?.fields,
    ...(agent.memory === undefined ? {} : { memory: agent.memory }),
    ...(inputs.flow === undefined ? {} : { flow: inputs.flow }),
    ...(agent.depsSchema === undefined ? {} : { deps: agent.depsSchema }),
    ...(agent.onUnknownOutcome === 'ask' ? { onUnknownOutcome: 'ask' as const } : {}),
    limits,
    ...below,
    timing: { heartbeatMs, ...modelTiming(agent), ...below.timing },
    ...(agent.approvals === undefined ? {} : { approvals: agent.approvals }),
    ...permissionFields(agent, inputs.permissions, tools),
    ...hookFields(inputs),
    ...snapshotGuardrails(agent),
    ...(prices === undefined ? {} : { prices }),
    window: windowPolicy(agent, capabilities),
    ...(inputs.checks === undefined ? {} : { checks: inputs.checks }),
    ...commonFields(inputs),
  };
  return { ...content, digest: snapshotDigest(content) };
}

function modelTiming({ modelTimeoutMs, modelMaxAttempts, modelPatienceMs }: AnyAgent): Omit<AgentSnapshot['timing'], 'heartbeatMs'> {
  return { modelTimeoutMs, modelMaxAttempts, ...(modelPatienceMs === undefined ? {} : { modelPatienceMs }) };
}

/** Returns the fields of a snapshot for the hooks of a run. */
function hookFields({ hooks = [], hookRecords = [] }: SnapshotInputs): Pick<AgentSnapshot, 'hooks' | 'hookRecords'> {
  return {
    ...(hooks.length === 0 ? {} : { hooks: [...hooks] }),
    ...(hookRecords.length === 0 ? {} : { hookRecords: [...hookRecords] }),
  };
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
  | 'live'
>;

/** Returns the fields of a snapshot that pin facts about the worker. */
export function commonFields(inputs: CommonInputs): CommonFields {
  const { searchAttributes, continueAsNew } = inputs;
  return {
    ...(inputs.authorize ? { authorize: true as const } : {}),
    ...(inputs.notify ? { notify: true as const } : {}),
    ...(inputs.notifyEnded ? { notifyEnded: true as const } : {}),
    ...(continueAsNew === undefined ? {} : { continueAsNew }),
    ...(inputs.archive ? { archive: true } : {}),
    ...(inputs.upgradeOnContinueAsNew ? { upgradeOnContinueAsNew: true as const } : {}),
    searchAttributes,
    ...(inputs.waitingForAttribute ? { waitingForAttribute: true as const } : {}),
    ...tagFields(inputs),
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
    ...(tool.version === undefined ? {} : { version: tool.version }),
    description: tool.description,
    ...(label === undefined ? {} : { label }),
    parameters: tool.providerSchema,
    strict: tool.strict,
    schema: tool.schema,
    parallel: tool.parallel,
    ...(updates === undefined ? {} : { updates: typeof updates === 'boolean' ? updates : [...updates] }),
    ...tool.policy,
    maxResultBytes: tool.maxResultBytes,
    ...(approval === undefined ? {} : { approval: { ...approval, when: approval.when === 'always' ? 'always' : 'predicate' } }),
    ...(answer === undefined ? {} : { answer }),
    ...(callers === undefined ? {} : { callers: [...callers] }),
    ...(category === undefined ? {} : { category }),
    ...(notExecutable === undefined ? {} : { notExecutable }),
    ...agentField(tool),
  };
}

function outputSnapshot(agent: AnyAgent, capabilities: ModelCapabilities): OutputSnapshot | undefined {
  if (agent.output === undefined) return undefined;
  const { schema, providerSchema, strict, mode, maxRetries } = agent.output;
  // An answer in a format of its own is checked as text: neither the provider nor a tool has a part in it.
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
