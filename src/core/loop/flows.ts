import { type AgentSnapshot, DEFAULT_MAX_HANDOFFS, type FlowState } from '../domain/agent.ts';
import { type ContentItem, type ContentPart, type Message, outputText } from '../domain/content.ts';
import type { JsonValue } from '../domain/json.ts';
import { noUsage } from '../domain/usage.ts';
import { checkJson } from '../json-schema/check-json-schema.ts';
import { findAgent, forgetActed, switchAgent } from './handoffs.ts';
import { endCancelled, endFailed, type NextStep } from './next-step.ts';
import type { RunPorts } from './ports.ts';
import { recordNotices, type RunState } from './state/run-state.ts';

// Model phase: the turns of the agents of a flow.

/** Returns the handoffs of a run that begins with a flow: the flow decides who is next, not the model. */
export function beginFlow({ flow, name, handoffs }: AgentSnapshot): Pick<RunState, 'handoffs'> {
  if (flow === undefined || flow.kind === 'parallel') return {};
  const max = handoffs?.max ?? DEFAULT_MAX_HANDOFFS;
  return {
    handoffs: { first: flow.name, max, count: 0, pinned: [], usage: [[name, noUsage()]], flow: { ...flow, turn: 0, iteration: 1 } },
  };
}

/** Ends the turn of an agent with its answer. True if another turn follows; false if the answer is that of the run. */
export function endTurn({ handoffs }: RunState, answer: JsonValue): boolean {
  const flow = handoffs?.flow;
  if (flow === undefined || !hasNext(flow) || fits(flow, answer)) return false;
  flow.turn += 1;
  if (flow.turn === flow.agents.length) Object.assign(flow, { turn: 0, iteration: flow.iteration + 1 });
  flow.isDue = true;
  return true;
}

/** Lets the next agent of the flow act. Returns the end of the run if it cannot. */
export async function takeTurn(state: RunState, ports: RunPorts): Promise<NextStep | undefined> {
  const flow = state.handoffs?.flow;
  const name = flow?.agents[flow.turn];
  if (flow === undefined || name === undefined) return undefined;
  const found = await findAgent(state, ports, name);
  if (found.type === 'cancelled') return endCancelled(state);
  if (found.type === 'failed')
    return endFailed(state, found.code, `Flow "${flow.name}" cannot continue with agent "${name}": ${found.message}`);
  delete flow.isDue;
  forgetActed(state, name);
  switchAgent(state, ports, found.snapshot);
  recordNotices(state, ports, found.notices);
  return undefined;
}

function hasNext({ kind, turn, agents, iteration, maxIterations }: FlowState): boolean {
  return turn < agents.length - 1 || (kind === 'loop' && iteration < maxIterations);
}

function fits({ until }: FlowState, answer: JsonValue): boolean {
  return until !== undefined && checkJson(until, answer).length === 0;
}

// Shared state: a flow whose agents act in parallel.

/** True for the run of a flow whose agents act in parallel: it calls no model. */
export function isParallel({ snapshot }: Pick<RunState, 'snapshot'>): boolean {
  return snapshot.flow?.kind === 'parallel';
}

/** Returns the input of every agent of the flow: what the user has said. Undefined if others have spoken. */
export function branchInput({ window }: Pick<RunState, 'window'>): string | ContentPart[] | undefined {
  const said = window.events.flatMap(({ content }) => content.filter(({ type }) => type === 'message'));
  const [first, ...more] = said.filter(isOfUser);
  if (first === undefined || more.length < said.length - 1) return undefined;
  return more.length === 0 ? first.content : [first, ...more].map(({ content }) => outputText(content)).join('\n\n');
}

function isOfUser(item: ContentItem): item is Message {
  return item.type === 'message' && item.role === 'user';
}
