// Shared state: a tool call as the input of the agent that it runs.

import type { AgentOfTool } from '../../domain/agent.ts';
import type { RunningAgent } from '../../domain/children.ts';
import type { ContentPart } from '../../domain/content.ts';
import type { JsonObject } from '../../domain/json.ts';
import type { ToolInvocation } from '../ports.ts';
import { branchInput } from '../flows/branch-input.ts';
import type { RunState } from '../state/run-state.ts';

/** Returns the input that an agent gets for a call: the request, or the arguments as JSON; in a parallel flow, the input of the run. */
export function requestOf(state: Pick<RunState, 'window'>, agent: AgentOfTool, args: JsonObject): string | ContentPart[] {
  return agent.branch ? (branchInput(state) ?? '') : requestText(agent, args);
}

/** Returns the request of a call, or its arguments as JSON. */
export function requestText({ request }: Pick<AgentOfTool, 'request'>, args: JsonObject): string {
  const text = args['request'];
  return request && typeof text === 'string' ? text : JSON.stringify(args);
}

/** Returns the fields of the deps that an agent gets. */
export function sharedDeps({ share, branch }: AgentOfTool, deps: JsonObject): JsonObject {
  if (branch) return deps;
  return Object.fromEntries(share.flatMap((name) => (Object.hasOwn(deps, name) ? [[name, deps[name] ?? null]] : [])));
}

/** Returns the child of a call that is alive. */
export function agentOfCall(
  { children = [] }: Pick<RunState, 'children'>,
  { eventId, index }: Pick<ToolInvocation, 'eventId' | 'index'>,
): RunningAgent | undefined {
  return children.find((child) => child.eventId === eventId && child.index === index);
}
