import type {
  ChildCall,
  ChildEnd,
  ChildOutcome,
  ChildStart,
  EndedChild,
  KeptAgent,
  MessageProblem,
  NextTurnInput,
  ReadChild,
  RunningAgent,
} from '../../domain/children.ts';
import { isToolCall } from '../../domain/content.ts';
import { defined, type JsonValue } from '../../domain/json.ts';
import type { Event } from '../../domain/record.ts';
import type { RunResultFields } from '../../domain/result.ts';
import { PARENT, type ParentRun } from '../../domain/run-input.ts';
import type { StopReason, TerminalStatus } from '../../domain/run.ts';
import { anyObject, listOf, TEXT, TRUE } from '../../domain/shape.ts';
import { addNotRun, type FinishReason } from '../../domain/tool-calls.ts';
import { addRunUsage, type SpentByDescendants, withChild as withUsageOfChild } from '../../domain/usage.ts';
import type { WaitDeadline } from '../../domain/time.ts';
import type { ToolInvocation, ToolOutcome } from '../../kernel/ports.ts';
import { countToolCalls, type RunState, type Slice, slice, type WithSlices } from '../../kernel/run-state.ts';

// Children: the wait for a child.

/** The longest wait for the end of a cancelled child, or for an end that is on its way. */
export const END_WAIT_MS = 60_000;

/** Runs a child to its end, or waits for one that an earlier execution has started. */
export function followChild(effects: ChildEffects, call: ChildCall, checkMs: number): Promise<ChildOutcome> {
  if (call.turn !== undefined) return followTurn(effects, call, checkMs);
  return call.start === undefined ? followEarlier(effects, call, checkMs) : followNew(effects, call, call.start);
}

/**
 * Follows a child that this execution starts. The server reports its end to this execution only. So before the run continues as new, it
 * asks the child to report its end to the run's id.
 */
async function followNew(effects: ChildEffects, call: ChildCall, start: ChildStart): Promise<ChildOutcome> {
  const { isLeft } = call;
  const isCancelled = (): boolean => isToBeCancelled(effects, call);
  const problem = await effects.start(start);
  if (problem !== undefined) return { type: 'failed', code: 'child_failed', message: problem, unstarted: true };
  const hasEnded = (): boolean => effects.end() !== undefined;
  await effects.wait(() => hasEnded() || isCancelled() || isLeft());
  if (!hasEnded() && isCancelled()) return cancelAndWait(effects, hasEnded);
  // A child that has ended cannot receive a signal: its end is on the way to this execution.
  if (!hasEnded() && !(await effects.tell())) await effects.wait(hasEnded, endWait(effects));
  const end = effects.end();
  if (end === undefined) return { type: 'left', seenAt: effects.now() };
  const isWhole = end.type === 'failed' || (end.type === 'ended' && !end.result.outputTruncated);
  return isWhole ? end : readEnded(effects);
}

/**
 * Follows a turn of a session that the run keeps. The session reports the end of each turn, and its own end, to any execution of the run.
 */
async function followTurn(effects: ChildEffects, call: ChildCall, checkMs: number): Promise<ChildOutcome> {
  const problem = await beginTurn(effects, call);
  if (problem !== undefined) return { type: 'failed', ...problem, unstarted: true };
  return followEarlier(effects, call, checkMs);
}

type TurnProblem = Pick<ChildOutcome & { type: 'failed' }, 'code' | 'message'>;

/** Begins the turn, unless an earlier execution has. Returns the problem if it cannot begin. */
async function beginTurn(effects: ChildEffects, { start, next }: Pick<ChildCall, 'start' | 'next'>): Promise<TurnProblem | undefined> {
  const problem = start === undefined ? undefined : await effects.start(start);
  if (problem !== undefined) return { code: 'child_failed', message: problem };
  return next === undefined ? undefined : effects.sendNext(next);
}

/**
 * Follows a child that an earlier execution started. It reports its end by a signal. A terminated child cannot report, so an activity
 * checks from time to time that the child is alive.
 */
async function followEarlier(effects: ChildEffects, call: ChildCall, checkMs: number): Promise<ChildOutcome> {
  const { seenAt: before, isLeft } = call;
  const isCancelled = (): boolean => isToBeCancelled(effects, call);
  // The server reports the end of a session to the execution that started it.
  const hasReported = (): boolean => effects.hasReported() || effects.end() !== undefined;
  const isOver = (): boolean => hasReported() || isCancelled() || isLeft();
  let seenAt = before;
  for (;;) {
    if (!isOver()) await effects.wait(isOver, { at: seenAt + checkMs, summary: 'next check that the child is alive' });
    if (hasReported()) return readEnded(effects);
    if (isCancelled()) return cancelAndWait(effects, hasReported);
    if (isLeft()) return { type: 'left', seenAt };
    const read = await effects.read({ ifEnded: true });
    if (read.type === 'ended' || (read.type === 'failed' && isGone(read.code))) return read;
    seenAt = effects.now();
  }
}

/** True if the run is cancelled or gives up the child. */
function isToBeCancelled(effects: ChildEffects, { isGivenUp }: ChildCall): boolean {
  return effects.isCancelled() || isGivenUp?.() === true;
}

/** Cancels a child and waits for its end, up to a limit. */
async function cancelAndWait(effects: ChildEffects, hasEnded: () => boolean): Promise<ChildOutcome> {
  await effects.cancel();
  await effects.wait(hasEnded, endWait(effects));
  const read: ReadChild = hasEnded() ? await effects.read() : { type: 'running' };
  return read.type === 'ended' ? { type: 'cancelled', result: read.result } : { type: 'cancelled' };
}

async function readEnded(effects: ChildEffects): Promise<EndedChild> {
  const read = await effects.read();
  return read.type === 'running' ? { type: 'failed', code: 'internal', message: 'its result cannot be read' } : read;
}

function endWait(effects: ChildEffects): { at: number; summary: string } {
  return { at: effects.now() + END_WAIT_MS, summary: 'end of the child' };
}

/** The codes of a child that has ended without a result. Any other failure says nothing about the child. */
const GONE: readonly string[] = ['run_terminated', 'run_timed_out', 'run_not_found', 'run_ended'];

/** True for the code of a child that has ended without a result. */
export function isGone(code: string): boolean {
  return GONE.includes(code);
}

// Children: the effects of the wait for a child.

/** The effects of the wait for one child, in its workflow or as recorded in its history. They never reject. */
export interface ChildEffects {
  /** Starts the child. Returns the problem if it does not start. */
  start(start: ChildStart): Promise<string | undefined>;
  /**
   * Sends the next message to a session that the run keeps. Returns the problem if it is not delivered: `run_ended` if the session has
   * ended.
   */
  sendNext(next: NextTurnInput): Promise<MessageProblem | undefined>;
  /** Returns the end of a child that this execution has started; undefined while it is running. */
  end(): ChildEnd | undefined;
  /** True once the child has reported its end by a signal. */
  hasReported(): boolean;
  isCancelled(): boolean;
  /** Asks the child to report its end by a signal to this run's id. Returns false if the child has ended. */
  tell(): Promise<boolean>;
  /** Cancels the child, or only the turn if the run keeps the session. */
  cancel(): Promise<void>;
  /**
   * Reads the result of the child, or of the awaited turn, by an activity. The activity waits for the end unless the child may continue.
   */
  read(options?: { ifEnded?: true }): Promise<ReadChild>;
  /** Waits until the condition holds or the deadline passes. A cancellation does not end the wait. */
  wait(isMet: () => boolean, deadline?: WaitDeadline): Promise<void>;
  now(): number;
}

// Capability: agents that run as children of tool calls.

/** The running agents. */
export const running = slice<RunningAgent[]>('children', listOf(anyObject<RunningAgent>()));

/** The agents that are kept between the calls of their tools. */
export const kept = slice<KeptAgent[]>('kept', listOf(anyObject<KeptAgent>()));

/** The ids of the agents that ended in the current step: its record will name them. */
export const endedInStep = slice<string[]>('endedChildren', listOf(TEXT));

/** The amounts that descendants of the run have used. */
export const descendants = slice<SpentByDescendants>('descendants', anyObject<SpentByDescendants>());

/** The run that a call started, in the outcome of the call. */
const started = slice<string>('childRunId', TEXT);

/**
 * In the outcome of a call: the result of its agent, if that is also the run's result; or how an agent of a parallel flow ended, if it did
 * not complete.
 */
export const agentEnd = slice<EndOfAgent>('endOfAgent', anyObject<EndOfAgent>());

export interface EndOfAgent {
  /** The name of the tool. */
  tool: string;
  status: TerminalStatus;
  stopReason: StopReason;
  output: JsonValue;
  finishReason?: FinishReason;
  error?: { code: string; message: string };
}

/** Returns the id of the run that a call started, or undefined. */
export function childOfCall(outcome: WithSlices): string | undefined {
  return started.of(outcome);
}

/** Returns the outcome of a call with the id of the run that it started. */
export function withChild(outcome: ToolOutcome, runId: string): ToolOutcome {
  if (outcome.type === 'lost') return outcome;
  return started.addTo(outcome, runId);
}

/** Returns the end of a call's agent, if the run itself needs it. */
export function endOfAgent(outcome: WithSlices): EndOfAgent | undefined {
  return agentEnd.of(outcome);
}

/** The run that started this one as its child. */
const parent = slice<ParentRun>(PARENT, anyObject<ParentRun>());

/** Sets the parent of a run. */
export function setParent(run: RunState, by: ParentRun): void {
  parent.set(run, by);
}

// Children: the reports of children and of the parent, in the inbox of a run.

type OfInbox = Required<WithSlices>;

/** The ids of children that have reported their end. */
const told = slice<string[]>('toldEnds', listOf(TEXT));

/** The ids of children that wait for a person. */
const waitsForPerson = slice<string[]>('waitingChildren', listOf(TEXT));

/** Present if the children have been told to pause, and not to continue since. */
const paused = slice<true>('childrenPaused', TRUE);

/** The run that is notified of this run's end. */
const notified = slice<string>('notifyOnEnd', TEXT);

/** Returns the ids of the children that wait for a person. */
export function childrenWaiting(inbox: WithSlices): readonly string[] {
  return waitsForPerson.of(inbox) ?? [];
}

/** Records that a child has reported its end. */
export function noteChildEnd(inbox: OfInbox, runId: string): void {
  add(told, inbox, runId);
  remove(waitsForPerson, inbox, runId);
}

/** Records that a child waits for a person, or no longer waits. */
export function noteChildWaiting(inbox: OfInbox, runId: string, isWaiting: boolean): void {
  if (isWaiting) add(waitsForPerson, inbox, runId);
  else remove(waitsForPerson, inbox, runId);
}

/** True if the child has reported its end. */
export function hasChildEnded(inbox: WithSlices, runId: string): boolean {
  return told.of(inbox)?.includes(runId) === true;
}

/** Drops the reports of a child whose result is known. */
export function forgetChild(inbox: OfInbox, runId: string): void {
  remove(told, inbox, runId);
  remove(waitsForPerson, inbox, runId);
}

function add(list: Slice<string[]>, inbox: OfInbox, id: string): void {
  const before = list.of(inbox) ?? [];
  if (!before.includes(id)) list.set(inbox, [...before, id]);
}

function remove(list: Slice<string[]>, inbox: OfInbox, id: string): void {
  const before = list.of(inbox);
  if (before === undefined || !before.includes(id)) return;
  if (before.length === 1) list.clear(inbox);
  else
    list.set(
      inbox,
      before.filter((one) => one !== id),
    );
}

/** True if the children have been told to pause, and not to continue since. */
export function areChildrenPaused(inbox: WithSlices): boolean {
  return paused.of(inbox) === true;
}

/** Records whether the children have been told to pause or to continue. */
export function noteChildrenPaused(inbox: OfInbox, isPaused: boolean): void {
  if (isPaused) paused.set(inbox, true);
  else paused.clear(inbox);
}

/** Returns the id of the run that is notified of this run's end, or undefined. */
export function notifiedOnEnd(inbox: WithSlices): string | undefined {
  return notified.of(inbox);
}

/** Sets the run that is notified of this run's end. */
export function notifyOnEnd(inbox: OfInbox, runId: string): void {
  notified.set(inbox, runId);
}

/** All values that children keep, in the state of a run, its inbox, and the outcomes of calls. */
export const CHILD_SLICES = [
  running,
  kept,
  endedInStep,
  descendants,
  started,
  agentEnd,
  parent,
  told,
  waitsForPerson,
  paused,
  notified,
] as const;

/** Returns the agents that run as children of tool calls. */
export function agentsOfCalls(run: WithSlices): readonly RunningAgent[] {
  return running.of(run) ?? [];
}

/** Returns the agents that are kept between the calls of their tools. */
export function keptAgents(run: WithSlices): readonly KeptAgent[] {
  return kept.of(run) ?? [];
}

/** Forgets the kept agents: the next call of each starts a new session. */
export function forgetKept(run: Required<WithSlices>): void {
  kept.clear(run);
}

/** Returns the ids of the children that a run waits for, in the order of the steps of a program or of their starts. */
export function childrenOf(state: Pick<RunState, 'program' | 'slices'> | undefined): string[] {
  if (state === undefined) return [];
  const ofSteps = [...(state.program?.steps.values() ?? [])].flatMap(({ progress }) => progress?.child?.runId ?? []);
  return [...ofSteps, ...agentsOfCalls(state).map(({ runId }) => runId)];
}

/** True for a run that may start children. */
export function mayHaveChildren({ program, snapshot }: Pick<RunState, 'program' | 'snapshot'>): boolean {
  return program !== undefined || snapshot.tools.some(({ agent }) => agent !== undefined);
}

// Capability: the agents that wait for a person.

/** An agent that runs as a child, with the name of its tool. */
interface ShownAgent {
  tool: string;
  runId: string;
}

/** Returns the agents that run as children of tool calls, in the order of their starts. */
export function runningAgents(state: Pick<RunState, 'slices' | 'window'>): ShownAgent[] {
  return agentsOfCalls(state).map(({ runId, eventId, index }) => {
    const call = state.window.events.findLast(({ id }) => id === eventId)?.content[index];
    return { runId, tool: call !== undefined && isToolCall(call) ? call.name : 'agent' };
  });
}

/** Returns the names of the tools whose agents are among the waiting children. */
export function waitingAgents(state: Pick<RunState, 'slices' | 'window'>, waitingChildren: readonly string[]): string[] {
  if (waitingChildren.length === 0 || running.of(state) === undefined) return [];
  const waiting = new Set(waitingChildren);
  return runningAgents(state)
    .filter(({ runId }) => waiting.has(runId))
    .map(({ tool }) => tool);
}

/** Returns the running child of a call. */
export function agentOfCall(run: WithSlices, { eventId, index }: Pick<ToolInvocation, 'eventId' | 'index'>): RunningAgent | undefined {
  return agentsOfCalls(run).find((child) => child.eventId === eventId && child.index === index);
}

// Capability: the cost of children.

/** The name under which a program counts the tool calls of its agents' descendants, except those of tools that it limits by name. */
const CALLS_OF_DESCENDANTS = '(descendants)';

/** Returns the tools whose calls by a run and its descendants are limited by a program above it. */
export function toolsLimitedAbove(run: WithSlices): string[] {
  return Object.keys(parent.of(run)?.left?.toolCallsByName ?? {});
}

/**
 * Adds the steps, usage and tool calls of an ended child and its descendants to a program's, and returns the child's usage for the event. A
 * run of an agent counts its children's usage separately from its own.
 */
export function spendChild(state: RunState, child: RunResultFields): Pick<Event, 'usage' | 'estimated'> {
  const { stepsUsed, toolCallsByName, toolCallsNotRun, descendants: below } = child;
  if (state.program === undefined) {
    descendants.set(state, withUsageOfChild(descendants.of(state), child, { isNew: true, byName: toolsLimitedAbove(state) }));
    return {};
  }
  const usage = below === undefined ? child.usage : addRunUsage(child.usage, below.usage);
  // The steps of a program are all model calls of its descendants.
  state.context.currentStep += stepsUsed + (below?.usage.llmCalls ?? 0);
  state.usage = addRunUsage(state.usage, usage);
  const named = Object.entries(below?.toolCallsByName ?? {}).filter(([, calls]) => calls > 0);
  const others = (below?.toolCalls ?? 0) - named.reduce((sum, [, calls]) => sum + calls, 0);
  const ofDescendants: [string, number][] = others > 0 ? [...named, [CALLS_OF_DESCENDANTS, others]] : named;
  for (const [name, calls] of [...Object.entries(toolCallsByName), ...ofDescendants]) {
    const counted = countToolCalls(state, name, calls);
    state.toolCallsStarted.set(counted, (state.toolCallsStarted.get(counted) ?? 0) + calls);
  }
  const notRun = addNotRun(state.toolCallsNotRun, toolCallsNotRun);
  if (notRun !== undefined) state.toolCallsNotRun = notRun;
  const { llmCalls: _, estimated, ...reported } = usage;
  return { usage: reported, ...defined({ estimated }) };
}
