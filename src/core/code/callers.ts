import type { ToolCaller, ToolSnapshot } from '../domain/agent/agent-snapshot.ts';

/** True if the model, or code, may call a tool. */
export function mayCall(caller: ToolCaller, { callers }: { readonly callers?: readonly ToolCaller[] | undefined }): boolean {
  return callers?.includes(caller) ?? true;
}

/** Returns the tools that a caller may call. */
export function toolsFor(caller: ToolCaller, { tools }: { tools: readonly ToolSnapshot[] }): ToolSnapshot[] {
  return tools.filter((tool) => mayCall(caller, tool));
}
