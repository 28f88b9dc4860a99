import { z } from 'zod';
import { UsageError } from '../../core/domain/errors/error.ts';
import type { FlowPolicy } from '../../core/domain/flows/flow-policy.ts';
import type { AnyAgent } from '../agent-definition.ts';
import { agentTool } from '../children/agent-tool.ts';
import { defineAgent } from '../define-agent.ts';
import type { AnyTool } from '../tools/tool-definition.ts';
import { flowLimits, parallelLimits, sharedLimits } from './flow-limits.ts';

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
