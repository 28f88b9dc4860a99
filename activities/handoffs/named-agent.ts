import { DEFAULT_ITERATIONS } from '../../src/core/domain/flows/flow-policy.ts';
import { LonghaulError } from '../../src/core/domain/errors/error.ts';
import type { ResolveAgentInput } from '../../src/core/protocol.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { flowAgent } from '../../src/define/flows/flow-agent.ts';
import { untilProblem } from '../../src/define/flows/until-problem.ts';
import type { AgentRegistry } from '../agents/agent-registry.ts';

/** Returns the agent that a run names; or the flow, if the order of its agents is in the input. Throws `invalid_input` for an order that cannot work. */
export function namedAgent(
  registry: Pick<AgentRegistry, 'agent'>,
  { agent: name, flow }: Pick<ResolveAgentInput, 'agent' | 'flow'>,
): AnyAgent {
  if (flow === undefined) return registry.agent(name);
  const agents = flow.agents.map((one) => registry.agent(one));
  const inner = agents.find((one) => one.flow !== undefined);
  if (inner !== undefined) throw refused(name, `"${inner.name}" is a flow: name agents`);
  const { kind, until, maxIterations = kind === 'loop' ? DEFAULT_ITERATIONS : 1 } = flow;
  if (kind !== 'loop' && (until !== undefined || maxIterations !== 1)) {
    throw refused(name, '"maxIterations" and "until" are for a loop');
  }
  const problem = until === undefined ? undefined : untilProblem(until);
  if (problem !== undefined) throw refused(name, problem);
  const policy = { name, kind, agents: flow.agents, maxIterations, ...(until === undefined ? {} : { until }) };
  return flowAgent(`flow "${name}"`, policy, agents);
}

function refused(name: string, problem: string): LonghaulError {
  return new LonghaulError('invalid_input', `Flow "${name}" cannot start: ${problem}`);
}
