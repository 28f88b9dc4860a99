import type { AgentSnapshot } from '../domain/agent.ts';
import type { CodeTool } from '../domain/execution.ts';
import { toolsFor } from './callers.ts';
import { parameterNames } from './signature/parameters.ts';

/** Returns the tools that code of an agent may call, as an executor gives them to it. */
export function codeTools(snapshot: Pick<AgentSnapshot, 'tools' | 'permissions'>): CodeTool[] {
  return toolsFor('code', snapshot).map((tool) => ({ name: tool.name, parameters: parameterNames(tool) }));
}
