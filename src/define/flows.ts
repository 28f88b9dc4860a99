import { z } from 'zod';
import { DEFAULT_ITERATIONS, type FlowKind, type FlowPolicy } from '../core/domain/agent.ts';
import { UsageError } from '../core/domain/errors.ts';
import { defined, type JsonObject } from '../core/domain/json.ts';
import { DEFAULT_STEPS, type LimitChanges, type RunLimits, SHARED_LIMITS } from '../core/domain/limits.ts';
import { checkConditionSchema } from '../core/program/check/check-schema.ts';
import { Problems } from '../core/program/check/problems.ts';
import { jsonSchemaOf } from '../schema/zod-schemas.ts';
import type { AgentDefinition, AnyAgent, OutputOf, UnfinishedOf } from './agent-definition.ts';
import { agentTool } from './agent-tool.ts';
import { defineAgent } from './define-agent.ts';
import { nonEmpty, type OptionTable, requireKnown, requireZod, wholeNumber } from './option-checks.ts';
import type { AnyTool } from './tool-definition.ts';

/** The options of `defineFlow`. */
export interface FlowOptions<Agents extends readonly AnyAgent[], Kind extends FlowKind = FlowKind> {
  /** Names the flow for clients and the Temporal UI, like the name of an agent. */
  name: string;
  /**
   * `sequential`: each agent acts once, in order. `loop`: after the last one, all act again. `parallel`: all act at the same time, each
   * as a child run with its own conversation.
   */
  kind: Kind;
  /** The agents, in order, each once. */
  agents: Agents;
  /** The rounds of a loop. Default 5. */
  maxIterations?: number;
  /** The schema of an answer that ends a loop at once, whichever agent gives it. */
  until?: z.ZodType;
}

/** A flow: it is started and registered like an agent. The output of a parallel flow is text: each agent's output under its name. */
export type FlowDefinition<Agents extends readonly AnyAgent[] = readonly AnyAgent[], Kind extends FlowKind = FlowKind> = AgentDefinition<
  Kind extends 'parallel' ? string : OutputOf<Agents[number]>,
  never,
  unknown,
  never,
  Kind extends 'parallel' ? string : UnfinishedOf<Agents[number]>
>;

const FLOW_KINDS: readonly FlowKind[] = ['sequential', 'loop', 'parallel'];

const FLOW_OPTIONS: OptionTable<FlowOptions<readonly AnyAgent[], FlowKind>> = {
  name: true,
  kind: true,
  agents: true,
  maxIterations: true,
  until: true,
};

/**
 * Defines a flow: agents that act in order in one run, over one conversation, or at the same time in separate runs. It is started like
 * an agent, and registered in the `agents` of a worker together with the agents that it names. Throws a `UsageError` for a flow that
 * cannot work.
 *
 * @example
 * const article = defineFlow({ name: 'article', kind: 'sequential', agents: [researcher, writer] });
 */
export function defineFlow<const Agents extends readonly AnyAgent[], const Kind extends FlowKind>(
  options: FlowOptions<Agents, Kind>,
): FlowDefinition<Agents, Kind> {
  const name = nonEmpty('the "name" of a flow', options.name);
  const owner = `flow ${JSON.stringify(name)}`;
  requireKnown(owner, options, FLOW_OPTIONS);
  const agents = checkAgents(owner, options.agents);
  const flow = policyOf(owner, { ...options, name });
  return flowAgent(owner, flow, agents) as FlowDefinition<Agents, Kind>;
}

function checkAgents(owner: string, agents: readonly AnyAgent[]): readonly AnyAgent[] {
  if (!Array.isArray(agents)) throw new UsageError(`${owner}: "agents" is not a list: write [researcher, writer]`);
  const names = new Set<string>();
  for (const agent of agents as readonly AnyAgent[]) {
    if (agent?.kind !== 'longhaul.agent')
      throw new UsageError(`${owner}: "agents" has a value that is not an agent: make it with defineAgent`);
    if (agent.flow !== undefined) throw new UsageError(`${owner}: "agents" names "${agent.name}", which is a flow: name agents`);
    if (names.has(agent.name)) throw new UsageError(`${owner}: "agents" names "${agent.name}" twice: name each agent once`);
    names.add(agent.name);
  }
  return agents;
}

function policyOf(owner: string, { name, kind, agents, maxIterations, until }: FlowOptions<readonly AnyAgent[]>): FlowPolicy {
  if (!FLOW_KINDS.includes(kind)) {
    throw new UsageError(`${owner}: "kind" is ${JSON.stringify(kind)}: write "sequential", "loop" or "parallel"`);
  }
  if (kind !== 'loop' && (maxIterations !== undefined || until !== undefined)) {
    throw new UsageError(`${owner} is ${kind}, and "maxIterations" and "until" are for a loop: leave them out, or write "kind": "loop"`);
  }
  const condition = until === undefined ? undefined : conditionOf(owner, until);
  return {
    name,
    kind,
    agents: agents.map((agent) => agent.name),
    maxIterations: kind !== 'loop' ? 1 : wholeNumber(`${owner}: "maxIterations"`, maxIterations ?? DEFAULT_ITERATIONS, 1),
    ...defined({ until: condition }),
  };
}

function conditionOf(owner: string, until: z.ZodType): JsonObject {
  requireZod(`${owner}: "until"`, until);
  const schema = jsonSchemaOf(until, `${owner}: until`);
  const problem = untilProblem(schema);
  if (problem === undefined) return schema;
  throw new UsageError(`${owner}: ${problem}`);
}

/** Returns a flow as an agent. Throws a UsageError if it has no agents, or if two of a parallel flow would have the same tool name. */
export function flowAgent(owner: string, flow: FlowPolicy, agents: readonly AnyAgent[]): AnyAgent {
  const [first] = agents;
  if (first === undefined) throw new UsageError(`${owner} has no agents: name those that act, in order`);
  const { name } = flow;
  if (flow.kind === 'parallel') {
    const tools = agents.map(branchTool);
    const same = tools.find((tool, index) => tools.findIndex((one) => one.name === tool.name) !== index)?.name;
    if (same !== undefined) throw new UsageError(`${owner}: two of its agents have the tool name "${same}": rename one of them`);
    // A flow calls no model: its snapshot has the first agent's, and no request is made with it.
    const { model } = first;
    return { ...defineAgent({ name, model, instructions: [] }), tools, flow, flowAgents: agents, limits: parallelLimits(agents) };
  }
  const { description: _, deps: __, depsSchema: ___, output: ____, handoffs: _____, ...rest } = first;
  return {
    ...rest,
    name,
    tools: agents.flatMap(({ tools }) => tools),
    flow,
    flowAgents: agents,
    limits: flowLimits(agents, flow.maxIterations),
  };
}

/** Returns an agent of a parallel flow as the tool that runs it, named like the agent as far as tool names allow. */
function branchTool(definition: AnyAgent): AnyTool {
  const limits = sharedLimits(definition);
  const tool = agentTool(definition.name, {
    name: definition.name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64),
    parameters: z.object({}),
  });
  return { ...tool, agent: { name: definition.name, definition, share: [], branch: true, ...defined({ limits }) } };
}

/** The limits that are summed for agents that act in order: the deadline is one of them. */
const SUMMED_LIMITS = [...SHARED_LIMITS, 'deadlineMs'] as const;

/**
 * Returns the limits of a flow: each is the sum of its agents' limits times the rounds, if all agents have that limit. Limits of single
 * tools are added when their agent first acts.
 */
function flowLimits(agents: readonly AnyAgent[], rounds: number): RunLimits {
  const sum = (of: (limits: RunLimits) => number): number => rounds * agents.reduce((total, { limits }) => total + of(limits), 0);
  const summed = SUMMED_LIMITS.filter((name) => agents.every(({ limits }) => limits[name] !== undefined));
  const [{ limits: { toolCallsByName } } = { limits: {} as Partial<RunLimits> }] = agents;
  return {
    steps: sum(({ steps }) => steps),
    finalAttempt: false,
    ...Object.fromEntries(summed.map((name) => [name, sum((limits) => limits[name] ?? 0)])),
    ...defined({ toolCallsByName }),
    ...(agents.every(({ limits }) => limits.onLimit === 'ask') ? { onLimit: 'ask' as const } : {}),
  };
}

/**
 * Returns the limits of a parallel flow. Each is the sum of its agents' limits, if all agents have that limit, plus one tool call per
 * agent for its start; the deadline is the latest of the agents' deadlines.
 */
function parallelLimits(agents: readonly AnyAgent[]): RunLimits {
  const limits: RunLimits = { steps: DEFAULT_STEPS, finalAttempt: false };
  for (const name of SHARED_LIMITS) {
    const amounts = agents.flatMap((agent) => agent.limits[name] ?? []);
    if (amounts.length < agents.length) continue;
    limits[name] = amounts.reduce((sum, amount) => sum + amount, name === 'toolCalls' ? agents.length : 0);
  }
  const deadlines = agents.flatMap((agent) => agent.limits.deadlineMs ?? []);
  return deadlines.length < agents.length ? limits : { ...limits, deadlineMs: Math.max(...deadlines) };
}

/** Returns the limits that an agent's run shares with its parent; undefined if it has none. */
function sharedLimits({ limits }: AnyAgent): LimitChanges | undefined {
  const shared = SHARED_LIMITS.flatMap((name) => (limits[name] === undefined ? [] : [[name, limits[name]] as const]));
  return shared.length === 0 ? undefined : Object.fromEntries(shared);
}

/** Returns why a schema cannot end a loop; undefined if it can. The workflow applies it, like the conditions of programs. */
export function untilProblem(until: JsonObject): string | undefined {
  const problems = new Problems(false);
  checkConditionSchema(until, '"until"', problems);
  const [first] = problems.problems;
  return first === undefined ? undefined : `${first.path}: ${first.message}`;
}
