// Tool phase: the start of an agent for a tool call.

import { reservePart } from '../../children/reserve-part.ts';
import { runsLeft, runsToGive, treeLimitsOf } from '../../children/tree-limits-of.ts';
import { inheritedHooks } from '../../domain/hooks/inherited-hooks.ts';
import type { LimitChanges } from '../../domain/agent/limits.ts';
import type { AgentOfTool } from '../../domain/children/agent-tool.ts';
import type { CallsLeft } from '../../domain/children/calls-left.ts';
import type { ChildStart } from '../../domain/children/child-call.ts';
import type { NextTurnInput } from '../../domain/children/kept-agent.ts';
import type { RunningAgent } from '../../domain/children/running-agent.ts';
import { DEFAULT_CHILD_CHECK_MS, type ParentInput } from '../../domain/run/parent-run.ts';
import type { SessionInput } from '../../domain/sessions/session-input.ts';
import { permissionsOf } from '../permissions/run-permissions.ts';
import type { RunPorts, ToolInvocation } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { requestOf, requestText, sharedDeps } from './call-of-agent.ts';
import { keptAgent } from './kept-agents.ts';

/** An agent to start or to ask again, or the reason why it cannot start. */
export type MadeAgent =
  | { ok: true; child: RunningAgent; begin: { start: ChildStart } | { next: NextTurnInput } }
  | { ok: false; problem: string };

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
  const known = keptAgent(state, invocation);
  if (depth >= tree.depth) return refused(`depth: there are ${depth} runs above this one, and at most ${tree.depth} are allowed`);
  if (known === undefined && runsLeft(state) < 1) return refused('perTree: no further run may be started in this tree');
  const now = ports.now();
  const reserved = reservePart(state, { own: agent.limits ?? {}, calls, now, keepsNone: agent.branch === true });
  if (!reserved.ok) return refused(`${reserved.limit}: nothing of it is left for another run`);
  const { eventId, index, offset, tool } = invocation;
  const runId = known?.runId ?? ports.childRunId(`${state.runId}/${tool.name}.${offset}.${index}.`);
  if (runId.length > MAX_ID) return { ok: false, problem: `its run id would have more than ${MAX_ID} characters` };
  const runs = agent.leaf ? 0 : runsToGive(state, calls.agents);
  const { given } = reserved;
  const shared = Object.keys(given).length === 0 ? {} : { given };
  const turn = agent.kept ? { turn: (known?.turns ?? 0) + 1 } : {};
  const child = { eventId, index, runId, startedAt: now, seenAt: now, ...shared, runs, ...turn };
  if (known !== undefined) return { ok: true, child, begin: { next: nextTurn(state, invocation, agent, child) } };
  const start = startOf(state, invocation, agent, parentOf(state, { depth: depth + 1, tree: { ...tree, runs }, given }));
  return { ok: true, child, begin: { start: agent.kept ? asSession(start) : start } };
}

function startOf(state: RunState, { call }: ToolInvocation, agent: AgentOfTool, parent: ParentInput): ChildStart {
  const { limits = {} } = agent;
  const deps = sharedDeps(agent, state.deps);
  const { principal } = state;
  const { tags = [], live } = state.snapshot;
  return {
    kind: 'agent',
    input: {
      agent: agent.name,
      input: requestOf(state, agent, call.arguments),
      ...(Object.keys(deps).length === 0 ? {} : { deps }),
      ...(Object.keys(limits).length === 0 ? {} : { limits }),
      ...(tags.length === 0 ? {} : { tags: [...tags] }),
      ...(live === undefined ? {} : { live }),
      ...(principal === undefined ? {} : { principal }),
      parent,
    },
  };
}

/** The limits of a session that a run keeps: those of the run hold for it. It is pinned like the run. */
const OF_PARENT: SessionInput = { limits: { turns: null, totalTokens: null, costUsd: null, deadlineMs: null }, refresh: 'never' };

function asSession(start: ChildStart): ChildStart {
  if (start.kind !== 'agent' || start.input.parent === undefined) return start;
  return { ...start, input: { ...start.input, session: OF_PARENT, parent: { ...start.input.parent, kept: true } } };
}

/** Returns the message that begins another turn of an agent that is kept. */
function nextTurn(
  state: RunState,
  { call }: ToolInvocation,
  agent: AgentOfTool,
  { turn = 1, runs, given }: Pick<RunningAgent, 'turn' | 'runs' | 'given'>,
): NextTurnInput {
  return {
    turn,
    content: requestText(agent, call.arguments),
    runs,
    ...(given === undefined ? {} : { left: given }),
    ...(state.permissions === undefined ? {} : { permissions: [...permissionsOf(state)] }),
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
