import type { AgentOfTool, ToolSnapshot } from '../../domain/agent.ts';
import { BYTE_BUDGETS, cutContent, cutMarker, cutText } from '../../domain/byte-budgets.ts';
import type { ChildCall, ChildOutcome, ChildStart, KeptAgent, NextTurnInput, RunningAgent } from '../../domain/children.ts';
import { type ContentPart, outputText } from '../../domain/content.ts';
import { defined, type JsonObject, type JsonValue } from '../../domain/json.ts';
import { DEFAULT_TREE_LIMITS, type LimitChanges, limitNumbers, limitOfTool, type TreeLimits } from '../../domain/limits.ts';
import type { RunResultFields } from '../../domain/result.ts';
import { DEFAULT_CHILD_CHECK_MS, type ParentInput, parentOf, type SessionInput } from '../../domain/run-input.ts';
import { cutNote, isCutOff } from '../../domain/tool-calls.ts';
import { addRunUsage, withChild as withUsageOfChild, withUnknownChild } from '../../domain/usage.ts';
import { checkJson, problemsText } from '../../json-schema/check-json-schema.ts';
import type { CallsLeft, Capability, LeftCall, LongCalls } from '../../kernel/capability.ts';
import { usedAmounts } from '../../kernel/limits.ts';
import type { CallsEnd, EndedCalls } from '../../kernel/next-step.ts';
import { points } from '../../kernel/points.ts';
import type { RunPorts, ToolInvocation, ToolOutcome } from '../../kernel/ports.ts';
import type { RunState, WithSlices } from '../../kernel/run-state.ts';
import { branchInput } from '../flows.ts';
import {
  agentEnd,
  agentOfCall,
  agentsOfCalls,
  CHILD_SLICES,
  childOfCall,
  childrenWaiting,
  descendants,
  endedInStep,
  type EndOfAgent,
  endOfAgent,
  forgetChild,
  isGone,
  kept,
  keptAgents,
  running,
  withChild,
  toolsLimitedAbove,
} from './children.ts';

// Tool phase: the calls of one response that run agents.

/** The effects of agents that run as children. */
export interface ChildPorts extends RunPorts {
  /** Runs a child to its end, or waits for one that an earlier execution has started. */
  runChild(call: ChildCall): Promise<ChildOutcome>;
  /** Returns a run id for a new child, with the prefix `prefix`. Each start gets a different id, also after a reset of the run. */
  childRunId(prefix: string): string;
}

type Begin = Extract<ChildStartResult, { ok: true }>['begin'];

/**
 * The calls of one response that run agents as children. They do not prevent a run from continuing as new: running agents are left to the
 * next execution.
 */
class AgentCalls implements LongCalls {
  /** The number of agents that this execution waits for. */
  waiting = 0;
  /** True if this execution has waited for an agent. */
  hasWaited = false;
  /** True once the agents are left to the next execution. */
  isLeaving = false;
  readonly #state: RunState;
  readonly #ports: ChildPorts;

  constructor(state: RunState, ports: ChildPorts) {
    this.#state = state;
    this.#ports = ports;
  }

  includes({ agent }: ToolSnapshot): boolean {
    return agent !== undefined;
  }

  /** True if a further agent must wait until another one ends, or until the same agent has answered another call. */
  isHeldBack(invocation: ToolInvocation): boolean {
    return agentsOfCalls(this.#state).length >= treeLimitsOf(this.#state).alive || isAnswering(this.#state, invocation);
  }

  /** Leaves the running agents to the next execution. */
  leave(): void {
    this.isLeaving = true;
  }

  /** True if an earlier execution has started the agent of a call. */
  isRunning(invocation: ToolInvocation): boolean {
    return agentOfCall(this.#state, invocation) !== undefined;
  }

  /** Starts the agent of a call, or waits for one that an earlier execution has started. */
  async run(invocation: ToolInvocation, calls: CallsLeft = { all: 1, agents: 1 }): Promise<ToolOutcome | LeftCall> {
    const { agent } = invocation.tool;
    const earlier = agentOfCall(this.#state, invocation);
    if (earlier !== undefined) return this.#follow(invocation, earlier);
    if (agent === undefined) return failedAgentResult(invocation, 'is not known');
    const made = prepareChild(this.#state, this.#ports, { invocation, agent, calls });
    if (!made.ok) return failedAgentResult(invocation, `could not start: ${made.problem}`);
    running.set(this.#state, [...agentsOfCalls(this.#state), made.child]);
    noteTurn(this.#state, invocation, made.child);
    return this.#follow(invocation, made.child, made.begin);
  }

  async #follow(invocation: ToolInvocation, child: RunningAgent, begin?: Begin): Promise<ToolOutcome | LeftCall> {
    const { inbox } = this.#ports;
    this.waiting += 1;
    this.hasWaited = true;
    const outcome = await this.#ports.runChild({
      runId: child.runId,
      seenAt: child.seenAt,
      of: { eventId: child.eventId, index: child.index },
      ...begin,
      ...defined({ turn: child.turn }),
      isLeft: () => this.isLeaving,
      isGivenUp: () => inbox.isInterrupted,
    });
    if (outcome.type === 'left') {
      this.waiting -= 1;
      child.seenAt = outcome.seenAt;
      return outcome;
    }
    this.#forget(child);
    noteEndOfTurn(this.#state, child, outcome);
    // Its id is shown until the record of the step contains it.
    const isRun = outcome.type !== 'failed' || !outcome.unstarted;
    const shown = endedInStep.of(this.#state) ?? [];
    if (isRun && !shown.includes(child.runId)) endedInStep.set(this.#state, [...shown, child.runId]);
    const ended = outcomeOfAgent(this.#state, this.#ports, { invocation, child, outcome });
    // Awaited only on demand: in the sandbox every promise costs a stack trace.
    const reviewed = points.afterResult(this.#state, this.#ports, { invocation, outcome: ended });
    const counted = reviewed === undefined ? ended : (await reviewed).outcome;
    this.waiting -= 1;
    return counted;
  }

  #forget(child: RunningAgent): void {
    const others = agentsOfCalls(this.#state).filter((one) => one !== child);
    if (others.length === 0) running.clear(this.#state);
    else running.set(this.#state, others);
    forgetChild(this.#ports.inbox, child.runId);
  }
}

// Tool phase: the end of an agent as the outcome of its tool call.

/** Bytes of the partial answer and of the error of an agent that did not complete. */
const PARTIAL_BYTES = 16_000;
const ERROR_BYTES = 4_000;

type EndedChild = Exclude<ChildOutcome, { type: 'left' }>;

/** Returns the outcome of a call whose agent has ended. Counts the agent's usage. */
function outcomeOfAgent(
  state: RunState,
  ports: RunPorts,
  { invocation, child, outcome }: { invocation: ToolInvocation; child: RunningAgent; outcome: EndedChild },
): ToolOutcome {
  const ofChild = (ending: ToolOutcome): ToolOutcome => withChild(ending, child.runId);
  const count = { isNew: (child.turn ?? 1) === 1, byName: toolsLimitedAbove(state) };
  const durationMs = Math.max(0, ports.now() - child.startedAt);
  if (outcome.type === 'failed') {
    if (!outcome.unstarted) descendants.set(state, withUnknownChild(descendants.of(state), child.given ?? {}, child.runs, count));
    const problem = `${outcome.unstarted ? 'could not start' : 'ended without a result'}: ${outcome.message}`;
    const failed = failedAgentResult(invocation, problem);
    return outcome.unstarted ? failed : ofChild({ ...failed, durationMs });
  }
  const { result } = outcome;
  const before = descendants.of(state);
  descendants.set(
    state,
    result === undefined ? withUnknownChild(before, child.given ?? {}, child.runs, count) : withUsageOfChild(before, result, count),
  );
  if (outcome.type === 'cancelled' && ports.cancelRequested()) return ofChild({ type: 'cancelled' });
  if (result === undefined) return ofChild({ ...failedAgentResult(invocation, 'was cancelled, but did not end in time'), durationMs });
  const { final, branch } = invocation.tool.agent ?? {};
  const ofRun = final ? finalResult(state, invocation, result) : branch ? endOfBranch(invocation, result) : undefined;
  if (typeof ofRun === 'string') return ofChild({ ...failedAgentResult(invocation, ofRun), durationMs });
  const settled = result.status === 'completed' ? agentAnswerResult(invocation, result) : unfinishedAgentResult(invocation, result);
  return ofChild(agentEnd.addTo({ ...settled, durationMs }, ofRun));
}

type Result = ToolOutcome & { type: 'result' };

/** Returns an agent's answer, with a note if it was cut off, or as an error if it is empty. */
function agentAnswerResult(invocation: ToolInvocation, { output, finishReason }: RunResultFields): Result {
  const { tool } = invocation;
  if (output === '') return failedAgentResult(invocation, 'gave an empty answer');
  // Output that fits a schema is complete, however its answer ended.
  const note = finishReason !== undefined && isCutOff(finishReason) && typeof output === 'string' ? [cutNote(finishReason)] : [];
  return { type: 'result', status: 'success', content: fittingContent(tool.maxResultBytes, output, ...note), durationMs: null };
}

/** Returns the error result for an agent that did not complete: how it ended, and its partial answer. */
function unfinishedAgentResult(invocation: ToolInvocation, { status, stopReason, error, output }: RunResultFields): Result {
  const reason = status === stopReason ? status : `${status} (${stopReason})`;
  const partial = outputText(output);
  const lines = [
    `ended with ${reason}`,
    ...(error === null ? [] : [`Error: ${cutText(error, ERROR_BYTES)}`]),
    ...(partial === '' ? [] : [`Partial answer: ${cutText(partial, PARTIAL_BYTES)}`]),
  ];
  return failedAgentResult(invocation, lines.join('\n'));
}

/** Returns the error result of a call whose agent gave no answer. */
function failedAgentResult({ tool }: ToolInvocation, problem: string): Result {
  const text = `Agent '${tool.agent?.name ?? tool.name}' ${problem}`;
  return { type: 'result', status: 'error', content: fittingContent(tool.maxResultBytes, text), durationMs: null };
}

function fittingContent(maxBytes: number = BYTE_BUDGETS.toolResult, ...content: JsonValue[]): JsonValue[] {
  return cutContent(content, maxBytes, cutMarker).content;
}

/**
 * Returns an agent's result as the result of the run, or a text with its problem. An agent that was cancelled alone does not end the run;
 * neither does an answer that does not fit the run's output schema.
 */
function finalResult(
  { snapshot: { output: declared } }: RunState,
  { tool }: ToolInvocation,
  { status, stopReason, output, finishReason, error, errorCode }: RunResultFields,
): EndOfAgent | string | undefined {
  if (status === 'cancelled') return undefined;
  const problems = declared === undefined || status !== 'completed' ? [] : checkJson(declared.schema, output);
  if (problems.length > 0) return `gave an answer that does not fit the output schema of this agent: ${problemsText(problems)}`;
  const finish = defined({ finishReason });
  return { status, stopReason, output, tool: tool.name, ...finish, ...errorOf(error, errorCode) };
}

/** Returns how an agent of a parallel flow ended, if it did not complete. The call's result has the partial answer. */
function endOfBranch({ tool }: ToolInvocation, { status, stopReason, error, errorCode }: RunResultFields): EndOfAgent | undefined {
  if (status === 'completed') return undefined;
  return { status, stopReason, output: '', tool: tool.name, ...errorOf(error, errorCode) };
}

function errorOf(message: string | null, code: string | null = null): { error?: { code: string; message: string } } {
  return message === null ? {} : { error: { code: code ?? 'internal', message } };
}

/** Returns the end of the run if an agent has ended whose result is also the run's: the first one, in call order. */
function endOfFinalAgent({ outcomes }: EndedCalls): CallsEnd | undefined {
  for (const outcome of outcomes) {
    const end = outcome?.type === 'result' ? endOfAgent(outcome) : undefined;
    if (end === undefined) continue;
    const { tool: _, ...ending } = end;
    const { status, output, finishReason } = ending;
    return status === 'completed' ? { output, ...defined({ finishReason }) } : ending;
  }
  return undefined;
}

// Tool phase: the start of an agent for a tool call.

/** An agent to start or to ask again, or the reason why it cannot start. */
type ChildStartResult =
  | { ok: true; child: RunningAgent; begin: { start: ChildStart } | { next: NextTurnInput } }
  | { ok: false; problem: string };

/** The maximum characters of a run id. */
const MAX_ID = 1_000;

/** Prepares the child of a call, with its share of the run's limits. */
function prepareChild(
  state: RunState,
  ports: ChildPorts,
  { invocation, agent, calls }: { invocation: ToolInvocation; agent: AgentOfTool; calls: CallsLeft },
): ChildStartResult {
  const { depth = 0 } = parentOf(state) ?? {};
  const tree = treeLimitsOf(state);
  const known = keptAgent(state, invocation);
  if (depth >= tree.depth) return limitRefusal(`depth: this run has ${depth} ancestors, and at most ${tree.depth} are allowed`);
  if (known === undefined && runsLeft(state) < 1) return limitRefusal('perTree: no further run may be started in this tree');
  const now = ports.now();
  const reserved = reservePart(state, { own: agent.limits ?? {}, calls, now, keepsNone: agent.branch === true });
  if (!reserved.ok) return limitRefusal(`${reserved.limit}: nothing is left for another run`);
  const { eventId, index, offset, tool } = invocation;
  const runId = known?.runId ?? ports.childRunId(`${state.runId}/${tool.name}.${offset}.${index}.`);
  if (runId.length > MAX_ID) return { ok: false, problem: `its run id would have more than ${MAX_ID} characters` };
  const runs = agent.leaf ? 0 : runsToGive(state, calls.agents);
  const { given } = reserved;
  const shared = Object.keys(given).length === 0 ? {} : { given };
  const turn = agent.kept ? { turn: (known?.turns ?? 0) + 1 } : {};
  const child = { eventId, index, runId, startedAt: now, seenAt: now, ...shared, runs, ...turn };
  if (known !== undefined) return { ok: true, child, begin: { next: nextTurn(state, invocation, agent, child) } };
  const start = startOf(state, invocation, agent, asParent(state, { depth: depth + 1, tree: { ...tree, runs }, given }));
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
      ...defined({ live, principal }),
      parent,
    },
  };
}

/** The limits of a session that a run keeps: the run's own limits apply instead. Its agent is pinned, like the run's. */
const OF_PARENT: SessionInput = { limits: { turns: null, totalTokens: null, costUsd: null, deadlineMs: null }, refresh: 'never' };

function asSession(start: ChildStart): ChildStart {
  if (start.kind !== 'agent' || start.input.parent === undefined) return start;
  return { ...start, input: { ...start.input, session: OF_PARENT, parent: { ...start.input.parent, kept: true } } };
}

/** Returns the message that begins another turn of a kept agent. */
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
    ...defined({ left: given }),
    ...points.passesOnLater(state),
  };
}

function asParent(
  state: RunState,
  { given, ...place }: Required<Pick<ParentInput, 'depth' | 'tree'>> & { given: LimitChanges },
): ParentInput {
  const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = state.snapshot.timing;
  return {
    runId: state.runId,
    ...place,
    checkMs: childCheckMs,
    ...(Object.keys(given).length === 0 ? {} : { left: given }),
    ...points.passesOn(state),
    ...defined({ tier: state.snapshot.tier }),
  };
}

function limitRefusal(limit: string): Extract<ChildStartResult, { ok: false }> {
  return { ok: false, problem: `the limit ${limit}` };
}
type AgentCall = Pick<ToolInvocation, 'tool'>;

/** Returns the agent that is kept for a tool, or undefined before its first call. */
function keptAgent(run: WithSlices, { tool }: AgentCall): KeptAgent | undefined {
  return keptAgents(run).find((one) => one.tool === tool.name && one.agent === tool.agent?.name);
}

/** True if the tool's agent is kept and still answering an earlier call. */
function isAnswering(state: WithSlices, call: AgentCall): boolean {
  if (!call.tool.agent?.kept) return false;
  const known = keptAgent(state, call);
  return known !== undefined && agentsOfCalls(state).some(({ runId }) => runId === known.runId);
}

/** Records the turn that a call begins. */
function noteTurn(state: RunState, { tool }: AgentCall, { runId, turn }: RunningAgent): void {
  if (turn === undefined || tool.agent === undefined) return;
  const others = keptAgents(state).filter((one) => one.runId !== runId);
  kept.set(state, [...others, { tool: tool.name, agent: tool.agent.name, runId, turns: turn }]);
}

/** Forgets a kept agent whose session has ended: the next call starts a new one. */
function noteEndOfTurn(state: RunState, { runId, turn }: RunningAgent, outcome: EndedChild): void {
  const known = keptAgents(state).find((one) => one.runId === runId);
  if (turn === undefined || known === undefined) return;
  const others = keptAgents(state).filter((one) => one !== known);
  // A turn that did not begin does not count.
  const turns = outcome.type === 'failed' && outcome.unstarted ? turn - 1 : Math.max(turn, numberOfTurn(outcome));
  const left = turns === 0 || hasSessionEnded(outcome) ? others : [...others, { ...known, turns }];
  if (left.length === 0) kept.clear(state);
  else kept.set(state, left);
}

/** Returns the number of an ended turn: higher than the run knows if the run was reset. */
function numberOfTurn(outcome: EndedChild): number {
  if (outcome.type === 'failed' || outcome.result === undefined || !('turn' in outcome.result)) return 0;
  return typeof outcome.result.turn === 'number' ? outcome.result.turn : 0;
}

/** True if the whole session has ended: it no longer exists, or it returned its own result instead of a turn's. */
function hasSessionEnded(outcome: EndedChild): boolean {
  if (outcome.type === 'failed') return isGone(outcome.code);
  return outcome.result !== undefined && !('turn' in outcome.result);
}

// Shared state: a tool call as the input of the agent that it runs.

/** Returns the agent's input for a call: the request, or the arguments as JSON; in a parallel flow, the run's input. */
export function requestOf(state: Pick<RunState, 'window'>, agent: AgentOfTool, args: JsonObject): string | ContentPart[] {
  return agent.branch ? (branchInput(state) ?? '') : requestText(agent, args);
}

/** Returns the request of a call, or its arguments as JSON. */
function requestText({ request }: Pick<AgentOfTool, 'request'>, args: JsonObject): string {
  const text = args['request'];
  return request && typeof text === 'string' ? text : JSON.stringify(args);
}

/** Returns the deps that are shared with an agent. */
export function sharedDeps({ share, branch }: AgentOfTool, deps: JsonObject): JsonObject {
  if (branch) return deps;
  return Object.fromEntries(share.flatMap((name) => (Object.hasOwn(deps, name) ? [[name, deps[name] ?? null]] : [])));
}

// Children: the share of a run's limits that an agent is given at its start.

/** The share of a run's limits for an agent, or the limit that is used up. */
type ReservedPart = { ok: true; given: LimitChanges } | { ok: false; limit: string };

/** The conditions under which an agent is given its share. */
interface ReservationTerms {
  /** The call's own limits. */
  own: LimitChanges;
  /** The unstarted calls of the response, including this one. */
  calls: CallsLeft;
  /** The run reserves no share for itself. */
  keepsNone?: boolean;
  /** Milliseconds since the epoch. */
  now: number;
}

const SHARED = ['inputTokens', 'outputTokens', 'totalTokens', 'costUsd', 'toolCalls'] as const;

/**
 * Returns an agent's share of each limited amount: the amount its call asks for, if that much is left; otherwise an equal share of the
 * remainder among the calls of the response and the run itself. Steps are not shared: each run has its own.
 */
function reservePart(state: RunState, { own, calls, keepsNone = false, now }: ReservationTerms): ReservedPart {
  const given: LimitChanges = {};
  const wanted = limitNumbers(own);
  const shares = calls.agents + (keepsNone ? 0 : 1);
  for (const name of SHARED) {
    const limit = state.limits[name];
    if (limit === undefined) continue;
    // The other calls of the response were admitted along with this one, and each may start.
    const admitted = name === 'toolCalls' ? calls.all - 1 : 0;
    const free = Math.max(0, limit - usedAmounts(state)[name] - heldOf(state, name) - admitted);
    const share = name === 'costUsd' ? free / shares : Math.floor(free / shares);
    const part = Math.min(free, wanted.get(name) ?? share);
    // An agent that may not call tools can still answer.
    if (part <= 0 && name !== 'toolCalls') return { ok: false, limit: name };
    given[name] = part;
  }
  const byName = partsByName(state, own, calls);
  if (Object.keys(byName).length > 0) given.toolCallsByName = byName;
  const { deadlineMs } = state.limits;
  if (deadlineMs === undefined) return { ok: true, given };
  const left = state.startedAt + deadlineMs - now;
  return left < 1 ? { ok: false, limit: 'deadline' } : { ok: true, given: { ...given, deadlineMs: left } };
}

/**
 * Returns an agent's share of the calls of single tools that a program above the run limits. The run reserves none for itself, because it
 * calls tools again only once the agent has ended; calls of the same response have been admitted already.
 */
function partsByName(state: RunState, own: LimitChanges, calls: CallsLeft): Record<string, number> {
  const used = usedAmounts(state).toolCallsByName;
  const parts = toolsLimitedAbove(state).map((tool): [string, number] => {
    const hasTool = state.snapshot.tools.some(({ name }) => name === tool);
    const held = agentsOfCalls(state).reduce((sum, { given }) => sum + (limitOfTool(given ?? {}, tool) ?? 0), 0);
    const admitted = hasTool ? calls.all - 1 : 0;
    const free = Math.max(0, (limitOfTool(state.limits, tool) ?? 0) - (used.get(tool) ?? 0) - held - admitted);
    return [tool, Math.min(free, limitOfTool(own, tool) ?? Math.ceil(free / calls.agents))];
  });
  return Object.fromEntries(parts);
}

function withCalls(calls: ReadonlyMap<string, number>, more: Record<string, number> = {}): ReadonlyMap<string, number> {
  const sums = new Map(calls);
  for (const [tool, count] of Object.entries(more)) sums.set(tool, (sums.get(tool) ?? 0) + count);
  return sums;
}

/** Returns the amount that the running agents have been given. */
function heldOf(run: RunState, name: (typeof SHARED)[number]): number {
  return agentsOfCalls(run).reduce((sum, { given }) => sum + (given?.[name] ?? 0), 0);
}

// Children: the limits of the tree of runs.

/** Returns the tree limits for a run's descendants: its own, capped at the parent's. */
function treeLimitsOf(state: Pick<RunState, 'snapshot' | 'slices'>): TreeLimits {
  const { snapshot } = state;
  const parent = parentOf(state);
  const { depth, alive, perTree } = { ...DEFAULT_TREE_LIMITS, ...snapshot.children };
  const above = parent?.tree;
  if (above === undefined) return { depth, alive, runs: perTree - 1 };
  return {
    depth: Math.min(above.depth, (parent?.depth ?? 0) + depth),
    alive: Math.min(above.alive, alive),
    runs: Math.min(above.runs, perTree - 1),
  };
}

/** Returns the number of descendants that may still start, excluding those already granted to its children. */
function runsLeft(state: Pick<RunState, 'snapshot' | 'slices'>): number {
  const held = agentsOfCalls(state).reduce((sum, { runs }) => sum + 1 + runs, 0);
  return treeLimitsOf(state).runs - (descendants.of(state)?.runs ?? 0) - held;
}

/**
 * Returns the number of runs that an agent may start itself: an equal share of the remaining ones, among the agents that the response
 * starts and the run itself.
 */
function runsToGive(state: Parameters<typeof runsLeft>[0], calls: number): number {
  return Math.max(0, Math.floor((runsLeft(state) - calls) / (calls + 1)));
}

export const children: Capability<ChildPorts> = {
  name: 'children',
  slices: CHILD_SLICES,
  waitsForPerson: ({ inbox }) => childrenWaiting(inbox).length > 0,
  hasStarted: (state, call) => agentOfCall(state, call) !== undefined,
  longCalls: (state, ports) => (state.snapshot.tools.some(({ agent }) => agent !== undefined) ? new AgentCalls(state, ports) : undefined),
  recordsBeside(state) {
    endedInStep.clear(state);
    return [];
  },
  callsEnded: endOfFinalAgent,
  turnEnds(state) {
    running.clear(state);
    endedInStep.clear(state);
  },
  turnBegins: (state) => descendants.clear(state),
  withOthers(run, used) {
    const others = descendants.of(run);
    return others === undefined
      ? used
      : {
          ...used,
          usage: addRunUsage(used.usage, others.usage),
          toolCalls: used.toolCalls + others.toolCalls,
          toolCallsByName: withCalls(used.toolCallsByName, others.toolCallsByName),
        };
  },
  limitsGiven(state) {
    const { runId = '', left } = parentOf(state) ?? {};
    return left === undefined ? undefined : { by: runId, most: left };
  },
  recordParts: (_, __, result) => defined({ childRunId: childOfCall(result) }),
  countParts: (run) => defined({ descendants: descendants.of(run) }),
  statusParts(state) {
    const others = descendants.of(state);
    return {
      ...(others === undefined ? {} : { treeUsage: addRunUsage(state.usage, others.usage) }),
      ...defined({ endedChildren: endedInStep.of(state) }),
    };
  },
};
