import type { ToolCaller, ToolSnapshot } from '../domain/agent.ts';
import { isDeniedByName, type Permissions } from '../domain/permissions.ts';

/** True if the model, or code, may call a tool. */
export function mayCall(caller: ToolCaller, { callers }: { readonly callers?: readonly ToolCaller[] | undefined }): boolean {
  return callers?.includes(caller) ?? true;
}

/** The tools of a run, and the policies that it began with. */
interface PermittedTools {
  readonly tools: readonly ToolSnapshot[];
  readonly permissions?: readonly Permissions[] | undefined;
}

/** Returns the tools that a caller may call: without those that the permissions deny by name. */
export function toolsFor(caller: ToolCaller, { tools, permissions = [] }: PermittedTools): ToolSnapshot[] {
  return tools.filter((tool) => mayCall(caller, tool) && !isDeniedByName(permissions, tool));
}
