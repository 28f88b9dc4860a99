import { type AgentSnapshot, DEFAULT_MAX_HANDOFFS, snapshotBytes } from '../domain/agent.ts';
import { jsonBytes, newest } from '../domain/byte-budgets.ts';
import type { Resolved } from '../domain/children.ts';
import { isToolCall, type ToolCall } from '../domain/content.ts';
import {
  cannotTakeOver,
  type HandoffState,
  noHandoffsLeft,
  ONE_TRANSFER,
  PINNED_SNAPSHOTS,
  RUN_ENDS,
  transferred,
} from '../domain/handoffs.ts';
import type { RunLimits } from '../domain/limits.ts';
import type { RunResultFields } from '../domain/result.ts';
import { parentOf } from '../domain/run-input.ts';
import { anyObject, TEXT } from '../domain/shape.ts';
import { type AggregatedUsage, noUsage } from '../domain/usage.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { type Capability, deny, type GateAnswer, type GatedCall } from '../kernel/capability.ts';
import { points } from '../kernel/points.ts';
import { callResult, type RunPorts, type ToolInvocation, type ToolOutcome } from '../kernel/ports.ts';
import { recordNotices, type RunState, slice, type WithSlices } from '../kernel/run-state.ts';
import { sessionOf } from '../domain/sessions.ts';

// Capability: agents that take over a run.

export interface HandoffPorts extends RunPorts {
  /** Resolves an agent that is about to take over. */
  resolveHandoff(agent: string): Promise<Resolved>;
}

/** The agents of the run, once it has been handed over, or from the start if a flow determines their order. */
const handedOver = slice<HandoffState>('handoffs', anyObject<HandoffState>(), { initial: handoffsOfFlow, bytes: carriedBytes });

/** The agent that takes over after the step, in the outcome of the call that transferred the run. */
const transferTo = slice<string>('transferTo', TEXT);

function handoffsOfFlow({ flow, name, handoffs: policy }: AgentSnapshot): HandoffState | undefined {
  if (flow === undefined || flow.kind === 'parallel') return undefined;
  const max = policy?.max ?? DEFAULT_MAX_HANDOFFS;
  return { first: flow.name, max, count: 0, pinned: [], usage: [[name, noUsage()]], ofFlow: true };
}

/** Returns the bytes of the carried snapshots of the inactive agents, and of their usage. */
function carriedBytes({ pinned, next, usage }: HandoffState): number {
  const snapshots = next === undefined ? pinned : [...pinned, next];
  return snapshots.reduce((sum, one) => sum + snapshotBytes(one), jsonBytes(usage));
}

/** Returns the pinned snapshots of the run's other agents. */
export function keptAgents(run: WithSlices): AgentSnapshot[] {
  const { pinned = [], next } = handedOver.of(run) ?? {};
  return next === undefined ? pinned : [...pinned, next];
}

/** Returns the number of times that the run has been handed over. */
export function handoffCount(run: WithSlices): number {
  return handedOver.of(run)?.count ?? 0;
}

// Tool phase: the call that hands the run over.

/**
 * Prepares the transfer to another agent, which takes over after the step. An activity resolves the agent, unless the run already has its
 * snapshot. If the agent cannot take over, the model reads the problem, and the run continues with the current agent.
 */
async function transfer(state: RunState, ports: HandoffPorts, { call }: ToolInvocation): Promise<ToolOutcome> {
  const { agent } = call.arguments;
  const name = typeof agent === 'string' ? agent : '';
  const { count, inEarlierTurns = 0, max } = handoffsOf(state);
  if (count - inEarlierTurns >= max) return callResult('error', noHandoffsLeft(max, sessionOf(state) === undefined ? 'run' : 'turn'));
  const resolved = await findAgent(state, ports, name);
  if (resolved.type === 'cancelled') return { type: 'cancelled' };
  if (resolved.type === 'failed') return callResult('error', cannotTakeOver(name, resolved.message));
  const handoffs = handoffsOf(state);
  handoffs.next = resolved.snapshot;
  delete handoffs.notices;
  if (resolved.notices !== undefined) handoffs.notices = resolved.notices;
  return transferTo.addTo(callResult('success', transferred(name)), name);
}

/** Returns the handoffs of the run, initialized at its first transfer. */
function handoffsOf(state: RunState): HandoffState {
  const { snapshot, usage } = state;
  const known = handedOver.of(state);
  if (known !== undefined) return known;
  const begun: HandoffState = {
    first: snapshot.name,
    max: snapshot.handoffs?.max ?? DEFAULT_MAX_HANDOFFS,
    count: 0,
    pinned: [],
    ...(knowsFirstStep(state) ? { acted: [snapshot.name] } : {}),
    usage: [[snapshot.name, usage]],
  };
  handedOver.set(state, begun);
  return begun;
}

/** Returns an agent that takes over: the current agent, an earlier agent of the run, or an agent that an activity resolves. */
export async function findAgent(state: RunState, ports: HandoffPorts, name: string): Promise<Resolved> {
  const snapshot = [state.snapshot, ...(handedOver.of(state)?.pinned ?? [])].find((one) => one.name === name);
  if (snapshot === undefined) return ports.resolveHandoff(name);
  const problem = depsProblem(state, snapshot);
  return problem === undefined ? { type: 'resolved', snapshot } : { type: 'failed', code: 'invalid_input', message: problem };
}

/** Returns why the current deps do not fit an agent, or undefined. */
function depsProblem({ deps }: RunState, { deps: schema }: AgentSnapshot): string | undefined {
  const problems = schema === undefined ? [] : checkJson(schema, deps);
  return problems.length === 0 ? undefined : `the deps do not fit it: ${problemsText(problems)}`;
}

// Tool phase: the change of the agent after a step with a transfer.

/** Hands the run over if one of the step's calls has transferred it. */
function handOver(state: RunState, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): void {
  const handoffs = handedOver.of(state);
  const next = handoffs?.next;
  const isTransferred = outcomes.some((outcome) => outcome?.type === 'result' && transferTo.of(outcome) !== undefined);
  if (handoffs === undefined || next === undefined || !isTransferred) return;
  const { notices } = handoffs;
  delete handoffs.next;
  delete handoffs.notices;
  handoffs.count += 1;
  switchAgent(state, ports, next);
  recordNotices(state, ports, notices);
}

/**
 * Makes another agent the current one: from here on, its instructions, tools and answers count, over the same window. The run keeps its
 * limits; an agent's limits of single tools are added on its first turn, and never widen a limit.
 */
export function switchAgent(state: RunState, ports: RunPorts, next: AgentSnapshot): void {
  const { snapshot: before } = state;
  const session = sessionOf(state);
  const handoffs = handedOver.of(state);
  state.outputRetries = 0;
  if (handoffs === undefined || next.name === before.name) return;
  handoffs.pinned = newest([...handoffs.pinned.filter(({ name }) => name !== next.name), before], PINNED_SNAPSHOTS);
  if (session !== undefined && parentOf(state)?.kept) session.unshared ??= before.limits;
  const isFirstTurn = !handoffs.usage.some(([name]) => name === next.name);
  if (isFirstTurn) {
    handoffs.usage.push([next.name, noUsage()]);
    state.limits = narrowedByTool(state.limits, next.limits);
    if (session?.unraised !== undefined) session.unraised = narrowedByTool(session.unraised, next.limits);
    if (session?.unshared !== undefined) session.unshared = narrowedByTool(session.unshared, next.limits);
  }
  state.snapshot = next;
  // The provider counted the tokens of the other agent's request.
  delete state.measured;
  points.agentSwitched(state, isFirstTurn);
  ports.switchAgent(state.snapshot);
}

/** Adds an agent's limits of single tools. The lower one counts if both have a limit. */
function narrowedByTool(limits: RunLimits, { toolCallsByName = {} }: RunLimits): RunLimits {
  const names = Object.keys(toolCallsByName);
  if (names.length === 0) return limits;
  const known = new Map(Object.entries(limits.toolCallsByName ?? {}));
  for (const [name, most] of Object.entries(toolCallsByName)) known.set(name, Math.min(most, known.get(name) ?? Infinity));
  return { ...limits, toolCallsByName: Object.fromEntries(known) };
}

// Tool phase: the calls of a response that transfer the run.

/** True for a call of the handoff tool. */
function isTransfer({ snapshot }: Pick<RunState, 'snapshot'>, { name }: ToolCall): boolean {
  return snapshot.handoffs !== undefined && snapshot.tools.some((tool) => tool.name === name && tool.handoff === true);
}

/** Denies a transfer that is not carried out: it is not the first valid transfer of its response, or the response ends the run. */
function checkTransfer({ run, call, tool, made, isLast = false }: GatedCall): GateAnswer {
  if (!tool?.handoff) return undefined;
  if (isLast) return deny('not_started', RUN_ENDS);
  const { content, problems = {} } = made;
  const first = content.filter(isToolCall).find((one) => isTransfer(run, one) && !Object.hasOwn(problems, one.toolCallId));
  return first?.toolCallId === call.toolCallId ? undefined : deny('not_started', ONE_TRANSFER);
}

/** Returns the name of the current agent, for a step of a run that may have several agents. */
function agentOfStep(run: OfRun): { agent?: string } {
  return run.snapshot.handoffs === undefined && handedOver.of(run) === undefined ? {} : { agent: run.snapshot.name };
}

/** True if agents other than the one that the run is named after have acted, or may act because of a flow. */
export function hasSeveralAgents(run: WithSlices): boolean {
  const handoffs = handedOver.of(run);
  return handoffs !== undefined && (handoffs.count > 0 || handoffs.ofFlow === true);
}

/** Returns the name of the agent or flow that the run began with. The run is listed under this name. */
export function firstAgent(run: { snapshot: AgentSnapshot } & WithSlices): string {
  const { snapshot } = run;
  return handedOver.of(run)?.first ?? snapshot.flow?.name ?? snapshot.name;
}

/** True for the run of any flow. */
export function isFlow(run: { snapshot: AgentSnapshot } & WithSlices): boolean {
  return handedOver.of(run)?.ofFlow === true || run.snapshot.flow?.kind === 'parallel';
}

/** Returns the current agent, unless the run began with it. */
function laterAgent(state: RunState): string | undefined {
  const handoffs = handedOver.of(state);
  return handoffs === undefined || handoffs.first === state.snapshot.name ? undefined : state.snapshot.name;
}

/** Adds to the usage of the current agent, if the run has been handed over. */
function addSpent(state: RunState, add: (total: AggregatedUsage) => AggregatedUsage): void {
  const ofAgent = handedOver.of(state)?.usage.find(([name]) => name === state.snapshot.name);
  if (ofAgent !== undefined) ofAgent[1] = add(ofAgent[1]);
}

/** Begins a turn of a session, which counts its own handoffs and usage. The names stay: these agents have acted before. */
function turnBegins(state: RunState): void {
  forgetActed(state);
  const handoffs = handedOver.of(state);
  if (handoffs === undefined) return;
  if (handoffs.count > 0) handoffs.inEarlierTurns = handoffs.count;
  for (const ofAgent of handoffs.usage) ofAgent[1] = noUsage();
}

/** Returns the agent that the run is named after; for a run with several agents, also the last one that acted, and the usage of each. */
function agentsOf(state: RunState): Partial<RunResultFields> {
  const agentName = firstAgent(state);
  const handoffs = handedOver.of(state);
  if (handoffs === undefined || !hasSeveralAgents(state)) return { agentName };
  return { agentName, lastAgent: state.snapshot.name, usageByAgent: Object.fromEntries(handoffs.usage) };
}

// Shared state: the steps to which a tool choice applies.

type OfRun = Pick<RunState, 'snapshot' | 'slices'>;
type ActingRun = OfRun & Pick<RunState, 'context'>;

/** True if the agent treats the first step of a turn differently, and the next step is the first. */
function isFirstStep(state: ActingRun): boolean {
  if (!knowsFirstStep(state)) return false;
  const { snapshot, context } = state;
  const handoffs = handedOver.of(state);
  // In a run of several agents, each agent has its own first step.
  if (handoffs !== undefined) return !(handoffs.acted ?? []).includes(snapshot.name);
  return context.currentStep === (sessionOf(state)?.turn?.stepsBefore ?? 0);
}

/** Records that the agent has answered in this turn. */
function noteActed(state: ActingRun): void {
  const { snapshot } = state;
  const handoffs = handedOver.of(state);
  if (handoffs !== undefined && isFirstStep(state)) handoffs.acted = [...(handoffs.acted ?? []), snapshot.name];
}

/** Records that an agent, or every agent, begins a turn. */
export function forgetActed(run: WithSlices, name?: string): void {
  const handoffs = handedOver.of(run);
  if (handoffs?.acted === undefined) return;
  const left = name === undefined ? [] : handoffs.acted.filter((one) => one !== name);
  if (left.length > 0) handoffs.acted = left;
  else delete handoffs.acted;
}

/** True if a tool choice applies only to the first step of a turn, or the agent returns to its first model with each turn. */
function knowsFirstStep({ snapshot: { settings, fallback } }: Pick<RunState, 'snapshot'>): boolean {
  const { toolChoice } = settings;
  if (fallback !== undefined && fallback.returnAt === undefined) return true;
  return toolChoice === 'required' || (typeof toolChoice === 'object' && !('every' in toolChoice && toolChoice.every));
}

export const handoffs: Capability<HandoffPorts> = {
  name: 'handoffs',
  slices: [handedOver, transferTo],
  gates: [{ name: 'handoffs', place: 'rules', check: checkTransfer }],
  modelCallParts: (state) => (isFirstStep(state) ? { firstStep: true } : {}),
  responseArrives(state, _, response) {
    noteActed(state);
    return response;
  },
  runsLast: isTransfer,
  startsCall: (state, ports, invocation) => (invocation.tool.handoff ? transfer(state, ports, invocation) : undefined),
  stepParts: agentOfStep,
  stepEnded: handOver,
  turnBegins,
  spent: addSpent,
  laterAgent,
  resultParts: agentsOf,
  statusParts: (state) => (hasSeveralAgents(state) ? { currentAgent: state.snapshot.name } : {}),
};
