// Shared state: the agents that are kept between the calls of their tools.

import type { ChildOutcome } from '../../domain/children/child-call.ts';
import type { KeptAgent } from '../../domain/children/kept-agent.ts';
import type { RunningAgent } from '../../domain/children/running-agent.ts';
import { isGone } from '../../children/follow-child.ts';
import type { ToolInvocation } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';

type EndedChild = Exclude<ChildOutcome, { type: 'left' }>;
type Call = Pick<ToolInvocation, 'tool'>;

/** Returns the agent that is kept for a tool; undefined before its first call. */
export function keptAgent({ kept = [] }: Pick<RunState, 'kept'>, { tool }: Call): KeptAgent | undefined {
  return kept.find((one) => one.tool === tool.name && one.agent === tool.agent?.name);
}

/** True if the agent of a tool is kept, and still answers an earlier call. */
export function isAnswering(state: Pick<RunState, 'kept' | 'children'>, call: Call): boolean {
  if (!call.tool.agent?.kept) return false;
  const known = keptAgent(state, call);
  return known !== undefined && state.children?.some(({ runId }) => runId === known.runId) === true;
}

/** Notes the turn that a call begins. */
export function noteTurn(state: RunState, { tool }: Call, { runId, turn }: RunningAgent): void {
  if (turn === undefined || tool.agent === undefined) return;
  const others = (state.kept ?? []).filter((one) => one.runId !== runId);
  state.kept = [...others, { tool: tool.name, agent: tool.agent.name, runId, turns: turn }];
}

/** Forgets an agent whose session has ended: the next call starts another one. */
export function noteEndOfTurn(state: RunState, { runId, turn }: RunningAgent, outcome: EndedChild): void {
  const known = state.kept?.find((one) => one.runId === runId);
  if (turn === undefined || known === undefined) return;
  const others = state.kept?.filter((one) => one !== known) ?? [];
  // A turn that did not begin is not counted.
  const turns = outcome.type === 'failed' && outcome.unstarted ? turn - 1 : turn;
  const left = turns === 0 || hasEnded(outcome) ? others : [...others, { ...known, turns }];
  if (left.length === 0) delete state.kept;
  else state.kept = left;
}

/** True if the whole session has ended: it is gone, or gives its own result instead of that of a turn. */
function hasEnded(outcome: EndedChild): boolean {
  if (outcome.type === 'failed') return isGone(outcome.code);
  return outcome.result !== undefined && !('turn' in outcome.result);
}
