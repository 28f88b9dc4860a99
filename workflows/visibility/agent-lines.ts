import { runningAgents } from '../../src/core/loop/children/waiting-agents.ts';
import type { RunState } from '../../src/core/loop/state/run-state.ts';

/** The number of agents that are shown: those that wait for a person come first. */
const SHOWN_AGENTS = 10;

/** Returns the agents that run as children of tool calls, as Markdown lines. */
export function agentLines(state: RunState, waitingChildren: readonly string[]): string[] {
  if (state.children === undefined) return [];
  const agents = runningAgents(state).map((agent) => ({ ...agent, waits: waitingChildren.includes(agent.runId) }));
  const listed = agents.toSorted((one, other) => Number(other.waits) - Number(one.waits)).slice(0, SHOWN_AGENTS);
  const more = agents.length - listed.length;
  return [
    '',
    '**Agents that run**',
    '',
    ...listed.map(({ tool, runId, waits }) => `- **${tool}** run \`${runId}\`${waits ? ' waits for a person' : ''}`),
    ...(more === 0 ? [] : [`- and ${more} more`]),
  ];
}
