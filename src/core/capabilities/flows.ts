import type { FlowState } from '../domain/agent.ts';
import type { ContentItem, ContentPart, Message, ToolCall } from '../domain/content.ts';
import { type Branch, branchesId, mergeBranches } from '../domain/handoffs.ts';
import type { JsonValue } from '../domain/json.ts';
import { anyObject } from '../domain/shape.ts';
import { resultText } from '../domain/tool-calls.ts';
import { noUsage } from '../domain/usage.ts';
import { checkJson } from '../json-schema/check-json-schema.ts';
import type { Capability } from '../kernel/capability.ts';
import { type CallsEnd, endCancelled, type EndedCalls, endFailed, type NextStep } from '../kernel/next-step.ts';
import type { RunPorts, ToolOutcome } from '../kernel/ports.ts';
import { recordEvent, recordNotices, type RunState, slice, type WithSlices } from '../kernel/run-state.ts';
import { endOfAgent } from './children/children.ts';
import { findAgent, forgetActed, type HandoffPorts, switchAgent } from './handoffs.ts';

// Capability: agents that act in a given order.

/** The turns of the agents, if the run began with a sequential flow: the flow decides which agent is next, not the model. */
const turns = slice<FlowState>('flow', anyObject<FlowState>(), {
  initial: ({ flow }) => (flow === undefined || flow.kind === 'parallel' ? undefined : { ...flow, turn: 0, iteration: 1 }),
});

/** Returns the round of a loop and its maximum number of rounds, or undefined for any other run. */
export function roundOf(run: WithSlices): { round: number; most: number } | undefined {
  const flow = turns.of(run);
  return flow?.kind === 'loop' ? { round: flow.iteration, most: flow.maxIterations } : undefined;
}

/** Ends the turn of an agent with its answer. Returns true if another turn follows, false if the answer is the run's. */
function endTurn(state: RunState, answer: JsonValue): boolean {
  const flow = turns.of(state);
  if (flow === undefined || !hasNext(flow) || fits(flow, answer)) return false;
  flow.turn += 1;
  if (flow.turn === flow.agents.length) Object.assign(flow, { turn: 0, iteration: flow.iteration + 1 });
  flow.isDue = true;
  return true;
}

/** Lets the flow's next agent act. Returns the end of the run if it cannot. */
async function takeTurn(state: RunState, ports: HandoffPorts): Promise<NextStep | undefined> {
  const flow = turns.of(state);
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

/** True for the run of a parallel flow: it calls no model. */
export function isParallel({ snapshot }: Pick<RunState, 'snapshot'>): boolean {
  return snapshot.flow?.kind === 'parallel';
}

/**
 * Returns the input of every agent of the flow: the user's messages, including those that arrived before the run knew that it is a parallel
 * flow, which accepts no others. Undefined if there are messages of others.
 */
export function branchInput({ window }: Pick<RunState, 'window'>): string | ContentPart[] | undefined {
  const said = window.events.flatMap(({ content }) => content.filter(({ type }) => type === 'message'));
  const [first, ...more] = said.filter(isOfUser);
  if (first === undefined || more.length < said.length - 1) return undefined;
  const contents = [first, ...more].map(({ content }) => content);
  if (more.length === 0) return first.content;
  if (contents.every((content) => typeof content === 'string')) return contents.join('\n\n');
  return contents.flatMap((content): ContentPart[] => (typeof content === 'string' ? [{ type: 'text', text: content }] : content));
}

function isOfUser(item: ContentItem): item is Message {
  return item.type === 'message' && item.role === 'user';
}

// Model phase: the start of parallel agents instead of a model call.

/** Calls every agent of the flow in one step, as a model would. All of them get the run's input, so the calls do not repeat it. */
function startBranches(state: RunState, ports: RunPorts): NextStep {
  const { name, tools } = state.snapshot;
  if (branchInput(state) === undefined) {
    const problem = 'its agents run in parallel, each in a separate conversation: start it with "input" alone, without "messages"';
    return endFailed(state, 'invalid_input', `Flow "${name}" cannot start: ${problem}`);
  }
  const id = branchesId(state.runId);
  const content = tools.map(({ name: tool }, index): ToolCall => {
    return { type: 'tool_call', toolCallId: `branch-${index + 1}`, name: tool, arguments: {} };
  });
  recordEvent(state, ports, { id, author: name, content });
  return { type: 'run_tools', response: { id, content, finishReason: 'tool_calls', usage: null }, final: false, outcomes: [] };
}

// Tool phase: the end of parallel agents.

/** Returns the output of a parallel flow: each agent's output under its name. An error if an agent has not completed. */
function endOfBranches({ state, calls, outcomes }: EndedCalls): CallsEnd | undefined {
  if (!isParallel(state)) return undefined;
  const { snapshot } = state;
  const agentOf = (tool: string): string => snapshot.tools.find(({ name }) => name === tool)?.agent?.name ?? tool;
  const { output, problem } = mergeBranches(calls.map(({ name }, index) => branchOf(agentOf(name), outcomes[index])));
  if (problem === undefined) return { output };
  const message = `Not all agents of flow "${snapshot.name}" have completed: ${problem}`;
  return { status: 'error', stopReason: 'error', output, error: { code: 'child_failed', message } };
}

/** Returns the answer of an agent, with a note if it was cut off. */
function branchAnswer([answer = '', ...notes]: readonly JsonValue[]): JsonValue {
  return notes.length === 0 ? answer : resultText([answer, ...notes]);
}

function branchOf(name: string, outcome: ToolOutcome | null | undefined): Branch {
  const usage = noUsage();
  if (outcome?.type !== 'result') return { name, status: 'cancelled', output: '', error: null, usage };
  const { status, content } = outcome;
  const ended = endOfAgent(outcome);
  if (status === 'success') return { name, status: 'completed', output: branchAnswer(content), error: null, usage };
  if (ended === undefined) return { name, status: 'error', output: '', error: resultText(content), usage };
  return { name, status: ended.status, output: '', error: ended.error?.message ?? null, usage };
}

export const flows: Capability<HandoffPorts> = {
  name: 'flows',
  slices: [turns],
  insteadOfModelCall: (state, ports) => (isParallel(state) ? startBranches(state, ports) : undefined),
  beforeAgentActs: (state, ports) => (turns.of(state)?.isDue ? takeTurn(state, ports) : undefined),
  turnContinues: endTurn,
  callsEnded: endOfBranches,
};
