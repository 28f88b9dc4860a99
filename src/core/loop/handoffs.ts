import { type AgentSnapshot, DEFAULT_MAX_HANDOFFS } from '../domain/agent.ts';
import { newest } from '../domain/byte-budgets.ts';
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
import type { RecordedResponse } from '../domain/model.ts';
import { noUsage } from '../domain/usage.ts';
import { checkJson, problemsText } from '../json-schema/check-json-schema.ts';
import { callResult } from './call-results.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from './ports.ts';
import { beginRecall, recordNotices, type RunState } from './state/run-state.ts';

// Tool phase: the call of an agent that hands the run over.

/**
 * Prepares the transfer to another agent, which takes over once the step has ended. The agent is resolved by an activity, unless the
 * run has its snapshot already. If it cannot take over, the model reads the problem, and the run continues with the same agent.
 */
export async function transfer(state: RunState, ports: RunPorts, { call }: ToolInvocation): Promise<ToolOutcome> {
  const { agent } = call.arguments;
  const name = typeof agent === 'string' ? agent : '';
  const { count, max } = handoffsOf(state);
  if (count >= max) return callResult('error', noHandoffsLeft(max));
  const resolved = await findAgent(state, ports, name);
  if (resolved.type === 'cancelled') return { type: 'cancelled' };
  if (resolved.type === 'failed') return callResult('error', cannotTakeOver(name, resolved.message));
  const handoffs = handoffsOf(state);
  handoffs.next = resolved.snapshot;
  delete handoffs.notices;
  if (resolved.notices !== undefined) handoffs.notices = resolved.notices;
  return { ...callResult('success', transferred(name)), transferTo: name };
}

/** Returns the handoffs of the run, which begin with its first transfer. */
function handoffsOf(state: RunState): HandoffState {
  const { snapshot, usage } = state;
  return (state.handoffs ??= {
    first: snapshot.name,
    max: snapshot.handoffs?.max ?? DEFAULT_MAX_HANDOFFS,
    count: 0,
    pinned: [],
    ...(knowsFirstStep(state) ? { acted: [snapshot.name] } : {}),
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

// Tool phase: the change of the agent after a step with a transfer.

/** Hands the run over if one of the calls of a step has transferred it. */
export function handOver(state: RunState, ports: RunPorts, outcomes: readonly (ToolOutcome | null)[]): void {
  const { handoffs } = state;
  const next = handoffs?.next;
  const isTransferred = outcomes.some((outcome) => outcome?.type === 'result' && outcome.transferTo !== undefined);
  if (handoffs === undefined || next === undefined || !isTransferred) return;
  const { notices } = handoffs;
  delete handoffs.next;
  delete handoffs.notices;
  handoffs.count += 1;
  switchAgent(state, ports, next);
  recordNotices(state, ports, notices);
}

/**
 * Lets the agent act that takes over: its instructions, tools and answers count from here on, over the same window. The limits stay
 * those of the run; limits of single tools are added on the first turn of an agent, and never widen any.
 */
export function switchAgent(state: RunState, ports: RunPorts, next: AgentSnapshot): void {
  const { handoffs, snapshot: before, session } = state;
  state.outputRetries = 0;
  if (handoffs === undefined || next.name === before.name) return;
  handoffs.pinned = newest([...handoffs.pinned.filter(({ name }) => name !== next.name), before], PINNED_SNAPSHOTS);
  const isFirstTurn = !handoffs.usage.some(([name]) => name === next.name);
  if (isFirstTurn) {
    handoffs.usage.push([next.name, noUsage()]);
    state.limits = narrowedByTool(state.limits, next.limits);
    if (session?.unraised !== undefined) session.unraised = narrowedByTool(session.unraised, next.limits);
  }
  state.snapshot = next;
  if (isFirstTurn) beginRecall(state);
  else delete state.recallDue;
  // The provider counted the tokens of another request; names and values of code belong to the agent that ran it.
  delete state.measured;
  delete state.code;
  ports.switchAgent(next);
}

/** Adds the limits of single tools of an agent, the lower one if both have it. */
function narrowedByTool(limits: RunLimits, { toolCallsByName = {} }: RunLimits): RunLimits {
  const names = Object.keys(toolCallsByName);
  if (names.length === 0) return limits;
  const known = new Map(Object.entries(limits.toolCallsByName ?? {}));
  for (const [name, most] of Object.entries(toolCallsByName)) known.set(name, Math.min(most, known.get(name) ?? Infinity));
  return { ...limits, toolCallsByName: Object.fromEntries(known) };
}

// Tool phase: the calls of a response that hand the run over.

/** True for a call of the tool by which the agent hands the run over. */
export function isTransfer({ snapshot }: Pick<RunState, 'snapshot'>, { name }: ToolCall): boolean {
  return snapshot.handoffs !== undefined && snapshot.tools.some((tool) => tool.name === name && tool.handoff === true);
}

/** The facts about the calls of a response on which its transfers depend. */
interface TransferContext {
  made: Pick<RecordedResponse, 'content' | 'problems'>;
  /** True if the response ends the run. */
  isLast: boolean;
}

/** Returns the text for the model about a transfer that is not carried out: it is not the first valid one of its response, or the response ends the run. */
export function withoutTransfer(state: RunState, { made, isLast }: TransferContext, call: ToolCall): string | undefined {
  if (isLast) return RUN_ENDS;
  const { content, problems = {} } = made;
  const first = content.filter(isToolCall).find((one) => isTransfer(state, one) && !Object.hasOwn(problems, one.toolCallId));
  return first?.toolCallId === call.toolCallId ? undefined : ONE_TRANSFER;
}

/** Returns the name of the agent that acts, for a step of a run that may have several. */
export function agentOfStep({ snapshot, handoffs }: Pick<RunState, 'snapshot' | 'handoffs'>): { agent?: string } {
  return snapshot.handoffs === undefined && handoffs === undefined ? {} : { agent: snapshot.name };
}

/** True if other agents than the one that the run is named after have acted, or may by the order of a flow. */
export function hasSeveralAgents({ handoffs }: Pick<RunState, 'handoffs'>): boolean {
  return handoffs !== undefined && (handoffs.count > 0 || handoffs.flow !== undefined);
}

/** Returns the name of the agent, or of the flow, that the run began with, by which it is found. */
export function firstAgent({ snapshot, handoffs }: Pick<RunState, 'snapshot' | 'handoffs'>): string {
  return handoffs?.first ?? snapshot.flow?.name ?? snapshot.name;
}

// Shared state: the steps in which the choice of a tool holds.

type ActingRun = Pick<RunState, 'snapshot' | 'handoffs' | 'context' | 'session'>;

/** True if the first step of a turn makes a difference to the agent, and the next step is one. */
export function isFirstStep(state: ActingRun): boolean {
  if (!knowsFirstStep(state)) return false;
  const { snapshot, handoffs, context, session } = state;
  // In a run of several agents, each has a first step of its own.
  if (handoffs !== undefined) return !(handoffs.acted ?? []).includes(snapshot.name);
  return context.currentStep === (session?.turn?.stepsBefore ?? 0);
}

/** Notes that the agent has answered in this turn. */
export function noteActed(state: ActingRun): void {
  const { snapshot, handoffs } = state;
  if (handoffs !== undefined && isFirstStep(state)) handoffs.acted = [...(handoffs.acted ?? []), snapshot.name];
}

/** Notes that an agent, or each one, begins a turn. */
export function forgetActed({ handoffs }: Pick<RunState, 'handoffs'>, name?: string): void {
  if (handoffs?.acted === undefined) return;
  const left = name === undefined ? [] : handoffs.acted.filter((one) => one !== name);
  if (left.length > 0) handoffs.acted = left;
  else delete handoffs.acted;
}

/** True if the choice of a tool holds for the first step of a turn alone, or the agent returns to the first of its models with it. */
function knowsFirstStep({ snapshot: { settings, fallback } }: Pick<RunState, 'snapshot'>): boolean {
  const { toolChoice } = settings;
  if (fallback !== undefined && fallback.returnAt === undefined) return true;
  return toolChoice === 'required' || (typeof toolChoice === 'object' && !('every' in toolChoice && toolChoice.every));
}
