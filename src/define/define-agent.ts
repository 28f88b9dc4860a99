import type { z } from 'zod';
import { type Duration, milliseconds, timerMilliseconds } from '../core/domain/run/duration.ts';
import { type ModelName, modelName } from '../core/domain/agent/model-name.ts';
import { UsageError } from '../core/domain/errors/error.ts';
import { memoryTools } from '../core/domain/memory/memory-tools.ts';
import type { JsonObject } from '../core/domain/json/json.ts';
import { jsonSchemaOf } from '../schema/zod-json-schema.ts';
import type { AgentDefinition, AnyAgent, Instructions } from './agent-definition.ts';
import type { AgentOptions, DepsFor, GivenDepsFor, OutputFor, ToolsFor, UnfinishedFor } from './agent-options.ts';
import { childrenOptions } from './children/children-options.ts';
import { agentCode } from './code/code-option.ts';
import { namesForModel } from './code/names-for-model.ts';
import { agentHandoffs, transferToolName } from './handoffs/handoff-options.ts';
import { agentGuardrails } from './guardrails/agent-guardrails.ts';
import { checkHooks } from './hooks/hook-list.ts';
import { agentApprovals } from './options/approval-options.ts';
import { agentLimits } from './options/limits-options.ts';
import { checkMcpServers } from './mcp/mcp-server.ts';
import { agentMemory } from './options/memory-option.ts';
import { checkSettings } from './options/model-settings.ts';
import { nonEmpty, requireKnown, requireZod, wholeNumber } from './options/option-checks.ts';
import { defineOutput } from './options/output-definition.ts';
import { agentPermissions } from './permissions/permissions-option.ts';
import type { ResourcesOfTools } from './options/needed-resources.ts';
import type { AnyTool } from './tools/tool-definition.ts';
import { checkWindow } from './options/window-options.ts';
import { skillSources, skillToolNames } from './skills/skill-sources.ts';

const OPTIONS = [
  'name',
  'model',
  'instructions',
  'tools',
  'mcp',
  'deps',
  'output',
  'outputMode',
  'outputRetries',
  'code',
  'replyFormat',
  'description',
  'handoffs',
  'maxHandoffs',
  'settings',
  'window',
  'finalAttempt',
  'limits',
  'children',
  'onLimit',
  'approvals',
  'permissions',
  'skills',
  'memory',
  'hooks',
  'guardrails',
  'onUnknownOutcome',
  'parallel',
  'modelTimeout',
  'modelMaxAttempts',
  'modelPatience',
];

/** The instructions of an agent that sets none. */
const DEFAULT_INSTRUCTIONS =
  "You are a helpful AI assistant. Solve the user's request with the tools you are given, and think step by step.";

/**
 * Defines an agent. Throws a `UsageError` that names the agent, the option and the path if an option cannot work: a model
 * without a provider, two tools with the same name, limits below 1, schemas that JSON cannot represent, code without a tool
 * that it can call.
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
  const Tools extends ToolsFor<Deps> = readonly [],
  FinalAttempt extends boolean = false,
>(
  options: AgentOptions<Output, Deps, Tools, FinalAttempt>,
): AgentDefinition<OutputFor<Output>, DepsFor<Deps>, GivenDepsFor<Deps>, ResourcesOfTools<Tools>, UnfinishedFor<Output, FinalAttempt>> {
  const owner = `agent "${checkName(options.name)}"`;
  requireKnown(owner, options, OPTIONS);
  const tools: readonly AnyTool[] = options.tools ?? [];
  checkTools(owner, tools);
  const mcp = checkMcpServers(owner, options.mcp ?? []);
  const { builtIn, ...knowledge } = agentKnowledge(owner, options);
  // The tools of MCP servers are known, and checked, when a run starts.
  const toolNames = mcp.length > 0 ? undefined : [...tools.map((tool) => tool.name), ...transferToolName(options), ...builtIn];
  const { code, replyFormat } = agentCode(owner, options, { tools, hasMcpServers: mcp.length > 0 });
  const handoffs = agentHandoffs(owner, options);
  const approvals = agentApprovals(owner, options.approvals);
  const depsSchema = options.deps === undefined ? undefined : checkDeps(owner, options.deps);
  const output = options.output === undefined ? undefined : defineOutput(owner, { ...options, output: options.output });
  return {
    kind: 'longhaul.agent',
    name: options.name,
    model: checkModel(owner, options.model),
    instructions: checkInstructions(owner, options.instructions ?? DEFAULT_INSTRUCTIONS),
    tools,
    ...(mcp.length === 0 ? {} : { mcp }),
    ...(options.deps === undefined || depsSchema === undefined ? {} : { deps: options.deps, depsSchema }),
    onUnknownOutcome: checkOnUnknownOutcome(owner, options.onUnknownOutcome ?? 'tell'),
    ...(output === undefined ? {} : { output }),
    ...(code === undefined ? {} : { code }),
    ...(replyFormat === undefined ? {} : { replyFormat }),
    ...handoffs,
    ...knowledge,
    settings: checkSettings(owner, options.settings ?? {}, {
      tools: mcp.length > 0 ? undefined : [...namesForModel({ tools, code, ...handoffs }), ...builtIn],
      output,
    }),
    window: checkWindow(owner, options.window ?? {}),
    limits: agentLimits(owner, options, { tools: toolNames, steps: replyFormat === 'code' ? code?.executor.limits.maxSteps : undefined }),
    ...(options.children === undefined ? {} : { children: childrenOptions(owner, options.children) }),
    ...(approvals === undefined ? {} : { approvals }),
    ...agentRules(owner, options, toolNames),
    parallel: options.parallel ?? true,
    modelTimeoutMs: timerMilliseconds(options.modelTimeout ?? '10m', `${owner}: "modelTimeout"`),
    modelMaxAttempts: wholeNumber(`${owner}: "modelMaxAttempts"`, options.modelMaxAttempts ?? 8, 1),
    ...(options.modelPatience === undefined ? {} : { modelPatienceMs: patienceMs(owner, options.modelPatience) }),
  };
}

/** Returns the skills and the memory of an agent, and the names of the tools that they give it. */
function agentKnowledge(
  owner: string,
  options: Parameters<typeof skillSources>[1] & Parameters<typeof agentMemory>[1],
): Pick<AnyAgent, 'skills' | 'memory'> & { builtIn: readonly string[] } {
  const skills = skillSources(owner, options);
  const memory = agentMemory(owner, options);
  return {
    builtIn: [...skillToolNames(options), ...memoryTools(memory).map(({ name }) => name)],
    ...(skills.length === 0 ? {} : { skills }),
    ...(memory === undefined ? {} : { memory }),
  };
}

/** Returns the fields of an agent that decide about its calls and its messages. */
function agentRules(
  owner: string,
  { permissions, guardrails, hooks }: Pick<AgentOptions<never, never>, 'permissions' | 'guardrails' | 'hooks'>,
  toolNames: readonly string[] | undefined,
): Pick<AnyAgent, 'permissions' | 'guardrails' | 'hooks'> {
  return {
    ...(permissions === undefined ? {} : { permissions: agentPermissions(owner, permissions, toolNames) }),
    ...agentGuardrails(owner, guardrails),
    ...(hooks === undefined ? {} : { hooks: checkHooks(owner, hooks) }),
  };
}

/** Less than the week in which the server ends the activity. */
const LONGEST_PATIENCE_MS = 5 * 24 * 60 * 60 * 1_000;

function patienceMs(owner: string, patience: Duration): number {
  return milliseconds(patience, `${owner}: "modelPatience"`, { least: 0, most: LONGEST_PATIENCE_MS });
}

function checkName(name: unknown): string {
  const text = nonEmpty('the "name" of an agent', name);
  if (text.length <= 100 && !/[\p{Cc}\p{Cs}]/u.test(text)) return text;
  throw new UsageError(`agent ${JSON.stringify(text.slice(0, 100))}: a name is one line of at most 100 characters`);
}

function checkModel(owner: string, model: unknown): ModelName {
  return modelName(owner, nonEmpty(`${owner}: "model"`, model));
}

function checkInstructions<Deps>(owner: string, instructions: Instructions<Deps>): Instructions<Deps> {
  if (typeof instructions === 'function' || typeof instructions === 'string') return instructions;
  if (Array.isArray(instructions) && instructions.every((text) => typeof text === 'string')) return instructions;
  throw new UsageError(`${owner}: "instructions" must be a text, a list of texts, or a function of the deps`);
}

function checkTools(owner: string, tools: readonly AnyTool[]): void {
  const names = new Set<string>();
  for (const tool of tools) {
    if (tool?.kind !== 'longhaul.tool') throw new UsageError(`${owner}: "tools" has a value that is not a tool: make it with defineTool`);
    if (names.has(tool.name)) throw new UsageError(`${owner} has two tools named "${tool.name}": give each its own name`);
    names.add(tool.name);
  }
}

/** Returns the JSON Schema of the deps. They are stored as JSON and parsed before each use: both sides of the schema must be JSON. */
function checkDeps(owner: string, deps: z.ZodType): JsonObject {
  requireZod(`${owner}: "deps"`, deps);
  const schema = jsonSchemaOf(deps, `${owner}: deps`);
  if (schema['type'] !== 'object') throw new UsageError(`${owner}: deps are not an object schema: write z.object({...})`);
  jsonSchemaOf(deps, `${owner}: deps`, 'output');
  return schema;
}

function checkOnUnknownOutcome(owner: string, choice: 'tell' | 'ask'): 'tell' | 'ask' {
  if (choice === 'tell' || choice === 'ask') return choice;
  throw new UsageError(`${owner}: "onUnknownOutcome" is ${JSON.stringify(choice)}: write "tell" or "ask"`);
}
