import { toolsFor } from '../../src/core/code/callable-tools.ts';
import type { AgentSnapshot, ToolSnapshot } from '../../src/core/domain/agent.ts';
import { errorMessage, LonghaulError } from '../../src/core/domain/errors.ts';
import { effectivePermissions, type Permissions } from '../../src/core/domain/permissions.ts';
import type { AnyAgent } from '../../src/define/agent-definition.ts';
import { requireToolsOfRules } from '../../src/define/permissions.ts';
import type { WorkerPart } from '../worker-part.ts';

/** Permissions in a worker: the permissions of the agent, its start and its ancestors are pinned for a run. */
export const permissionsInWorker: WorkerPart = {
  name: 'permissions',
  defined: (agent) => ({ fitTools: (tools) => permissionFields(agent, [], tools) }),
  pin: ({ agent, input }) => ({ fitTools: (tools) => permissionFields(agent, input.permissions, tools) }),
};

/**
 * Returns the field of a snapshot that has the policies of a run: none if neither the agent nor an ancestor nor the caller sets
 * permissions. Throws `invalid_agent` for a rule that matches no tool, which could not be checked for MCP tools when the agent was defined,
 * and for a denied tool that the model must call.
 */
function permissionFields(
  { name, permissions: own, mcp, hosted = [], settings }: AnyAgent,
  others: readonly Permissions[] = [],
  tools: readonly ToolSnapshot[],
): Pick<AgentSnapshot, 'permissions'> {
  if (own === undefined && others.length === 0) return {};
  try {
    if (mcp !== undefined && own !== undefined)
      requireToolsOfRules(
        `agent "${name}"`,
        own,
        [...tools, ...hosted].map((tool) => tool.name),
      );
  } catch (error) {
    throw new LonghaulError('invalid_agent', errorMessage(error));
  }
  // An Update replaces the first one.
  const permissions = effectivePermissions(own ?? { mode: 'default' }, others);
  const { toolChoice } = settings;
  const chosen = typeof toolChoice === 'object' && 'tool' in toolChoice ? tools.find((tool) => tool.name === toolChoice.tool) : undefined;
  if (chosen !== undefined && toolsFor('model', { tools: [chosen], permissions }).length === 0) {
    const problem = `"settings.toolChoice" of agent "${name}" names the tool "${chosen.name}", which the permissions of the run deny`;
    throw new LonghaulError('invalid_agent', problem);
  }
  return { permissions };
}
