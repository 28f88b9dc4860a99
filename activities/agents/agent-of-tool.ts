import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent/agent-snapshot.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { agentOfTool } from '../../src/define/children/sub-agents.ts';
import type { AnyTool } from '../../src/define/tools/tool-definition.ts';

/** Returns the field of a pinned tool that names the agent which it runs. */
export function agentField(tool: AnyTool): Pick<ToolSnapshot, 'agent'> {
  if (tool.agent === undefined) return {};
  const { name, share, limits, final, branch, request, kept } = tool.agent;
  const isLeaf = agentOfTool(tool)?.tools.every(({ agent }) => agent === undefined) === true;
  return {
    agent: {
      name,
      share: [...share],
      ...(limits === undefined ? {} : { limits }),
      ...(final === undefined ? {} : { final }),
      ...(branch === undefined ? {} : { branch }),
      ...(request === undefined ? {} : { request }),
      ...(kept === undefined ? {} : { kept }),
      ...(isLeaf ? { leaf: true as const } : {}),
    },
  };
}

/** Returns the fields of a snapshot for the runs below: none for an agent that starts none. */
export function childrenFields(
  { tools, children }: AnyAgent,
  childCheckMs: number | undefined,
): { children?: NonNullable<AgentSnapshot['children']>; timing: Pick<AgentSnapshot['timing'], 'childCheckMs'> } {
  if (tools.every(({ agent }) => agent === undefined)) return { timing: {} };
  return { ...(children === undefined ? {} : { children }), timing: childCheckMs === undefined ? {} : { childCheckMs } };
}
