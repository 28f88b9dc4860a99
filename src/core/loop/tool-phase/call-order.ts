// Tool phase: the calls that wait for other calls of their response.

import type { ToolSnapshot } from '../../domain/agent/agent-snapshot.ts';

/**
 * True if a call must not start before another one of the response has ended: it would not see what that one changes, or its own
 * change could come before that of an earlier call. Calls whose tools name different keys may overlap, and so may calls of tools
 * that say nothing: what they change is checked when they end.
 */
export function mustFollow(tool: ToolSnapshot, other: ToolSnapshot): boolean {
  const [own, others] = [updatesOf(tool), updatesOf(other)];
  if (others === undefined) return isDeclared(own);
  if (!isDeclared(others)) return false;
  return !isDeclared(own) || own === true || others === true || own.some((key) => others.includes(key));
}

/** True if the tool says that its calls change deps or state. */
export function declaresUpdates(tool: ToolSnapshot): boolean {
  return isDeclared(updatesOf(tool));
}

/** True if a call of the tool may change deps or state. */
export function mayUpdate(tool: ToolSnapshot): boolean {
  return updatesOf(tool) !== false;
}

function isDeclared(updates: ToolSnapshot['updates']): updates is true | string[] {
  return updates !== undefined && updates !== false;
}

/** Returns what a tool says of its updates. Calls that no function of the user runs change nothing. */
function updatesOf({ updates, mcp, agent, handoff, ofSkills, ofMemory, answer }: ToolSnapshot): ToolSnapshot['updates'] {
  const isOfUser = [mcp, agent, handoff, ofSkills, ofMemory, answer].every((kind) => kind === undefined);
  return isOfUser ? updates : false;
}
