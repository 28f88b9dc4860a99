import {
  type AgentSnapshot,
  DEFAULT_ITERATIONS,
  DEFAULT_MAX_HANDOFFS,
  type ToolSnapshot,
  TRANSFER_TO_AGENT,
} from '../../src/core/domain/agent.ts';
import { LonghaulError } from '../../src/core/domain/errors.ts';
import { type TransferTarget, transferTool } from '../../src/core/domain/handoffs.ts';
import { defined, type JsonObject } from '../../src/core/domain/json.ts';
import type { ResolveAgentInput } from '../../src/core/protocol.ts';
import { type AnyAgent, parseDeps } from '../../src/define/agent-definition.ts';
import { flowAgent, untilProblem } from '../../src/define/flows.ts';
import type { WorkerPart } from '../worker-part.ts';
import type { AgentRegistry } from './agent-registry.ts';

/**
 * Returns the agent that a run names; or the flow, if the input has the order of its agents. Throws `invalid_input` for an invalid order.
 */
export function namedAgent(
  registry: Pick<AgentRegistry, 'agent'>,
  { agent: name, flow }: Pick<ResolveAgentInput, 'agent' | 'flow'>,
): AnyAgent {
  if (flow === undefined) return registry.agent(name);
  const agents = flow.agents.map((one) => registry.agent(one));
  const inner = agents.find((one) => one.flow !== undefined);
  if (inner !== undefined) throw invalidFlow(name, `"${inner.name}" is a flow: name agents`);
  const { kind, until, maxIterations = kind === 'loop' ? DEFAULT_ITERATIONS : 1 } = flow;
  if (kind !== 'loop' && (until !== undefined || maxIterations !== 1)) {
    throw invalidFlow(name, '"maxIterations" and "until" are for a loop');
  }
  const problem = until === undefined ? undefined : untilProblem(until);
  if (problem !== undefined) throw invalidFlow(name, problem);
  const policy = { name, kind, agents: flow.agents, maxIterations, ...defined({ until }) };
  return flowAgent(`flow "${name}"`, policy, agents);
}

function invalidFlow(name: string, problem: string): LonghaulError {
  return new LonghaulError('invalid_input', `Flow "${name}" cannot start: ${problem}`);
}

/**
 * Returns the first agent of a flow, with the limits of the flow. Any other agent, and a parallel flow, which has no first agent, is
 * returned unchanged.
 */
export function firstOfFlow(registry: Pick<AgentRegistry, 'agent'>, agent: AnyAgent): AnyAgent {
  const [first] = agent.flow?.agents ?? [];
  return first === undefined || agent.flow?.kind === 'parallel' ? agent : { ...registry.agent(first), limits: agent.limits };
}

/** Throws `invalid_input` if an agent of a flow could not take its turn with these deps, before any model is called. */
export function requireDeps(registry: Pick<AgentRegistry, 'agent'>, { flow }: AnyAgent, deps: JsonObject): void {
  for (const agent of flow?.agents ?? []) parseDeps(registry.agent(agent), deps);
}

/** Returns the agents that an agent may hand over to, with this worker's descriptions of them. */
export function transferTargets(registry: Pick<AgentRegistry, 'agent'>, { handoffs = [] }: AnyAgent): TransferTarget[] {
  return handoffs.map(({ name }) => ({ name, description: registry.agent(name).description }));
}

/** Handoffs in a worker: an agent that may hand over has a tool for it, which names the agents with their descriptions. */
export const handoffsInWorker: WorkerPart = {
  name: 'handoffs',
  toolNames: () => [TRANSFER_TO_AGENT],
  pin: ({ runtime: { registry }, agent }) => handoffFields(agent, transferTargets(registry, agent)),
};

/** The part of the snapshot of an agent that lets it hand over. */
interface HandoffFields {
  fields: Pick<AgentSnapshot, 'handoffs'>;
  tools: ToolSnapshot[];
}

/** Returns the part of a snapshot that lets the agent hand over to these agents: empty if there are none. */
export function handoffFields(
  { maxHandoffs: max = DEFAULT_MAX_HANDOFFS }: AnyAgent,
  targets: readonly TransferTarget[] = [],
): HandoffFields {
  if (targets.length === 0) return { fields: {}, tools: [] };
  return { fields: { handoffs: { agents: targets.map(({ name }) => name), max } }, tools: [transferTool(targets)] };
}
