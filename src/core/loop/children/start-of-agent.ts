// Tool phase: the start of an agent for a tool call.

import { reservePart } from '../../children/reserve-part.ts';
import { runsLeft, runsToGive, treeLimitsOf } from '../../children/tree-limits-of.ts';
import { inheritedHooks } from '../../domain/hooks/inherited-hooks.ts';
import type { LimitChanges } from '../../domain/agent/limits.ts';
import type { AgentOfTool } from '../../domain/children/agent-tool.ts';
import type { CallsLeft } from '../../domain/children/calls-left.ts';
import type { ChildStart } from '../../domain/children/child-call.ts';
import type { RunningAgent } from '../../domain/children/running-agent.ts';
import { DEFAULT_CHILD_CHECK_MS, type ParentInput } from '../../domain/run/parent-run.ts';
import { permissionsOf } from '../permissions/run-permissions.ts';
import type { RunPorts, ToolInvocation } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { requestOf, sharedDeps } from './call-of-agent.ts';

/** An agent to start, or the reason why it cannot start. */
export type MadeAgent = { ok: true; child: RunningAgent; start: ChildStart } | { ok: false; problem: string };

/** The most characters of the id of a run. */
const MAX_ID = 1_000;

/** Makes the child of a call, with its part of the limits of the run. */
export function makeAgent(
  state: RunState,
  ports: RunPorts,
  { invocation, agent, calls }: { invocation: ToolInvocation; agent: AgentOfTool; calls: CallsLeft },
): MadeAgent {
  const { parent: { depth = 0 } = {} } = state;
  const tree = treeLimitsOf(state);
  if (depth >= tree.depth) return refused(`depth: there are ${depth} runs above this one, and at most ${tree.depth} are allowed`);
  if (runsLeft(state) < 1) return refused('perTree: no further run may be started in this tree');
  const now = ports.now();
  const reserved = reservePart(state, { own: agent.limits ?? {}, calls, now, keepsNone: agent.branch === true });
  if (!reserved.ok) return refused(`${reserved.limit}: nothing of it is left for another run`);
  const { eventId, index, offset, tool } = invocation;
  const runId = ports.childRunId(`${state.runId}/${tool.name}.${offset}.${index}.`);
  if (runId.length > MAX_ID) return { ok: false, problem: `its run id would have more than ${MAX_ID} characters` };
  const runs = agent.leaf ? 0 : runsToGive(state, calls.agents);
  const { given } = reserved;
  const shared = Object.keys(given).length === 0 ? {} : { given };
  return {
    ok: true,
    child: { eventId, index, runId, startedAt: now, seenAt: now, ...shared, runs },
    start: startOf(state, invocation, agent, parentOf(state, { depth: depth + 1, tree: { ...tree, runs }, given })),
  };
}

function startOf(state: RunState, { call }: ToolInvocation, agent: AgentOfTool, parent: ParentInput): ChildStart {
  const { maxIterations, ...limits } = agent.limits ?? {};
  const deps = sharedDeps(agent, state.deps);
  const { principal } = state;
  const { tags = [] } = state.snapshot;
  return {
    kind: 'agent',
    input: {
      agent: agent.name,
      input: requestOf(state, agent, call.arguments),
      ...(Object.keys(deps).length === 0 ? {} : { deps }),
      ...(maxIterations === undefined ? {} : { maxIterations }),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(tags.length === 0 ? {} : { tags: [...tags] }),
      ...(principal === undefined ? {} : { principal }),
      parent,
    },
  };
}

function parentOf(
  state: RunState,
  { given, ...place }: Required<Pick<ParentInput, 'depth' | 'tree'>> & { given: LimitChanges },
): ParentInput {
  const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = state.snapshot.timing;
  const permissions = permissionsOf(state);
  const hooks = inheritedHooks(state.snapshot);
  return {
    runId: state.runId,
    ...place,
    checkMs: childCheckMs,
    ...(Object.keys(given).length === 0 ? {} : { left: given }),
    ...(permissions.length === 0 ? {} : { permissions: [...permissions] }),
    ...(hooks.length === 0 ? {} : { hooks }),
  };
}

function refused(limit: string): Extract<MadeAgent, { ok: false }> {
  return { ok: false, problem: `the limit ${limit}` };
}
