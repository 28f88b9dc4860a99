import { z } from 'zod';
import { DEFAULT_STEPS, type LimitChanges, type RunLimits } from '../../core/domain/limits.ts';
import { UsageError } from '../../core/domain/errors.ts';
import type { FlowPolicy } from '../../core/domain/agent.ts';
import type { AnyAgent } from '../agent-definition.ts';
import { agentTool } from '../children/agent-tool.ts';
import { defineAgent } from '../define-agent.ts';
import type { AnyTool } from '../tools/tool-definition.ts';

/** Returns a flow as an agent. Throws a UsageError if it has no agents, or if two of a parallel flow would have the same tool name. */
export function flowAgent(owner: string, flow: FlowPolicy, agents: readonly AnyAgent[]): AnyAgent {
  const [first] = agents;
  if (first === undefined) throw new UsageError(`${owner} has no agents: name those that act, in order`);
  const { name } = flow;
  if (flow.kind === 'parallel') {
    const tools = agents.map(branchTool);
    const same = tools.find((tool, index) => tools.findIndex((one) => one.name === tool.name) !== index)?.name;
    if (same !== undefined) throw new UsageError(`${owner}: two of its agents have the tool name "${same}": name one of them otherwise`);
    // It calls no model: that of an agent stands in its snapshot, and no request is made with it.
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

/** Returns an agent of a parallel flow as the tool that runs it. It has the name of the agent, as far as tools may have it. */
function branchTool(definition: AnyAgent): AnyTool {
  const limits = sharedLimits(definition);
  const tool = agentTool(definition.name, {
    name: definition.name.replaceAll(/[^A-Za-z0-9_-]/g, '_').slice(0, 64),
    parameters: z.object({}),
  });
  return { ...tool, agent: { name: definition.name, definition, share: [], branch: true, ...(limits === undefined ? {} : { limits }) } };
}

/** The limits that a run shares with the runs below it. */
const SHARED = ['toolCalls', 'inputTokens', 'outputTokens', 'totalTokens', 'costUsd'] as const;

/** The limits of agents that act one after the other: a deadline is one of them. */
const SUMMED = [...SHARED, 'deadlineMs'] as const;

/**
 * Returns the limits of a flow: each is the sum of those of its agents, for every round, if all of them have it. Limits of single tools
 * are added when their agent first acts.
 */
function flowLimits(agents: readonly AnyAgent[], rounds: number): RunLimits {
  const sum = (of: (limits: RunLimits) => number): number => rounds * agents.reduce((total, { limits }) => total + of(limits), 0);
  const summed = SUMMED.filter((name) => agents.every(({ limits }) => limits[name] !== undefined));
  const [{ limits: { toolCallsByName } } = { limits: {} as Partial<RunLimits> }] = agents;
  return {
    steps: sum(({ steps }) => steps),
    finalAttempt: false,
    ...Object.fromEntries(summed.map((name) => [name, sum((limits) => limits[name] ?? 0)])),
    ...(toolCallsByName === undefined ? {} : { toolCallsByName }),
    ...(agents.every(({ limits }) => limits.onLimit === 'ask') ? { onLimit: 'ask' as const } : {}),
  };
}

/**
 * Returns the limits of a flow whose agents act side by side. Each is the sum of those of its agents, if all of them have it, with a tool
 * call for the start of each; the deadline is the latest of theirs.
 */
function parallelLimits(agents: readonly AnyAgent[]): RunLimits {
  const limits: RunLimits = { steps: DEFAULT_STEPS, finalAttempt: false };
  for (const name of SHARED) {
    const amounts = agents.flatMap((agent) => agent.limits[name] ?? []);
    if (amounts.length < agents.length) continue;
    limits[name] = amounts.reduce((sum, amount) => sum + amount, name === 'toolCalls' ? agents.length : 0);
  }
  const deadlines = agents.flatMap((agent) => agent.limits.deadlineMs ?? []);
  return deadlines.length < agents.length ? limits : { ...limits, deadlineMs: Math.max(...deadlines) };
}

/** Returns the limits of an agent that its run shares with the run that starts it; undefined if it has none. */
function sharedLimits({ limits }: AnyAgent): LimitChanges | undefined {
  const shared = SHARED.flatMap((name) => (limits[name] === undefined ? [] : [[name, limits[name]] as const]));
  return shared.length === 0 ? undefined : Object.fromEntries(shared);
}
