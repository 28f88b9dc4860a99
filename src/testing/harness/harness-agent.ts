import { setTimeout as sleep } from 'node:timers/promises';
import type { AnyAgent } from '../../define/agent-definition.ts';
import type { AnyTool } from '../../define/tools/tool-definition.ts';
import type { RunContext } from '../../define/context/run-context.ts';
import type { Plan } from './plan.ts';

/** Returns the agent with its tools delayed as the test plans. */
export function harnessAgent<Agent extends AnyAgent>(agent: Agent, plan: Plan): Agent {
  const delayed = new Set(plan.of('delay').map(({ tool }) => tool));
  if (delayed.size === 0) return agent;
  return { ...agent, tools: agent.tools.map((tool) => (delayed.has(tool.name) ? slowTool(tool, plan) : tool)) };
}

function slowTool(tool: AnyTool, plan: Plan): AnyTool {
  const execute = async (args: never, context: RunContext<never, never>): Promise<unknown> => {
    for (const fault of plan.of('delay')) {
      if (fault.tool !== tool.name || (fault.step ?? context.step) !== context.step) continue;
      plan.happened(fault);
      await sleep(fault.ms, undefined, { signal: context.signal });
    }
    return tool.execute(args, context);
  };
  return { ...tool, execute };
}
