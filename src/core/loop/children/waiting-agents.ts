// Shared state: the agents that wait for a person.

import { isToolCall } from '../../domain/content.ts';
import type { RunState } from '../state/run-state.ts';

/** An agent that runs as a child, with the name of its tool. */
export interface ShownAgent {
  tool: string;
  runId: string;
}

/** Returns the agents that run as children of tool calls, in the order of their starts. */
export function runningAgents({ children = [], window }: Pick<RunState, 'children' | 'window'>): ShownAgent[] {
  return children.map(({ runId, eventId, index }) => {
    const call = window.events.findLast(({ id }) => id === eventId)?.content[index];
    return { runId, tool: call !== undefined && isToolCall(call) ? call.name : 'agent' };
  });
}

/** Returns the names of the tools whose agents are among those children. */
export function waitingAgents(state: Pick<RunState, 'children' | 'window'>, waitingChildren: readonly string[]): string[] {
  if (state.children === undefined || waitingChildren.length === 0) return [];
  const waiting = new Set(waitingChildren);
  return runningAgents(state)
    .filter(({ runId }) => waiting.has(runId))
    .map(({ tool }) => tool);
}
