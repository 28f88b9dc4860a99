// Tool phase: the call of an agent that hands the run over.

import { type AgentSnapshot, DEFAULT_MAX_HANDOFFS } from '../../domain/agent.ts';
import { cannotTakeOver, type HandoffState, noHandoffsLeft, transferred } from '../../domain/handoffs.ts';
import type { Resolved } from '../../domain/children.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from '../ports.ts';
import { choosesOnce } from '../state/first-step.ts';
import type { RunState } from '../state/run-state.ts';
import { result } from '../tool-phase/call-results.ts';

/**
 * Prepares the transfer to another agent, which takes over once the step has ended. The agent is resolved by an activity, unless the
 * run has its snapshot already. If it cannot take over, the model reads the problem, and the run goes on with the same agent.
 */
export async function transfer(state: RunState, ports: RunPorts, { call }: ToolInvocation): Promise<ToolOutcome> {
  const { agent } = call.arguments;
  const name = typeof agent === 'string' ? agent : '';
  const { count, max } = handoffsOf(state);
  if (count >= max) return result('error', noHandoffsLeft(max));
  const resolved = await findAgent(state, ports, name);
  if (resolved.type === 'cancelled') return { type: 'cancelled' };
  if (resolved.type === 'failed') return result('error', cannotTakeOver(name, resolved.message));
  const handoffs = handoffsOf(state);
  handoffs.next = resolved.snapshot;
  delete handoffs.notices;
  if (resolved.notices !== undefined) handoffs.notices = resolved.notices;
  return { ...result('success', transferred(name)), transferTo: name };
}

/** Returns the handoffs of the run, which begin with its first transfer. */
export function handoffsOf(state: RunState): HandoffState {
  const { snapshot, usage } = state;
  return (state.handoffs ??= {
    first: snapshot.name,
    max: snapshot.handoffs?.max ?? DEFAULT_MAX_HANDOFFS,
    count: 0,
    pinned: [],
    ...(choosesOnce(state) ? { acted: [snapshot.name] } : {}),
    usage: [[snapshot.name, usage]],
  });
}

/** Returns an agent that takes over: the one that acts, one that the run has had, or one that an activity resolves. */
export async function findAgent(state: RunState, ports: RunPorts, name: string): Promise<Resolved> {
  const { snapshot: current, handoffs } = state;
  const snapshot = [current, ...(handoffs?.pinned ?? [])].find((one) => one.name === name);
  if (snapshot === undefined) return ports.resolveHandoff(name);
  const problem = depsProblem(state, snapshot);
  return problem === undefined ? { type: 'resolved', snapshot } : { type: 'failed', code: 'invalid_input', message: problem };
}

/** Returns why the deps, which may have changed since, do not fit an agent. */
function depsProblem({ deps }: RunState, { deps: schema }: AgentSnapshot): string | undefined {
  const problems = schema === undefined ? [] : checkJson(schema, deps);
  return problems.length === 0 ? undefined : `the deps do not fit it: ${problemsText(problems)}`;
}
