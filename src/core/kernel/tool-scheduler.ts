import { deadlineOf, lostAnswer } from '../domain/approvals.ts';
import type { ToolSnapshot } from '../domain/agent.ts';
import { changesSoFar, declaresUpdates, mayUpdate, mustFollow } from '../domain/changes.ts';
import { defined } from '../domain/json.ts';
import { isoTime, type WaitDeadline } from '../domain/time.ts';
import { askForDecisions, awaitAgain, requestDecision, showWaiting, startable, takeDecisions, waitForChange } from './approvals.ts';
import type { CallsLeft, LeftCall, LongCalls } from './capability.ts';
import { bytesInFlight, continueBeforeTool, hasMuchToRecord } from './continue-as-new.ts';
import { endsByDeadline } from './limits.ts';
import type { ToolBatchContext } from './next-step.ts';
import { points } from './points.ts';
import { interruptedResult, notRunResult, noWorker, type RunPorts, type ToolInvocation, type ToolOutcome, unknownResult } from './ports.ts';
import type { RunState } from './run-state.ts';
import {
  applyChanges,
  countStart,
  deniedAgain,
  needsDecisions,
  prepareCalls,
  type PreparedCall,
  recordResults,
  runsInSequence,
  startTool,
  type ToolBatch,
} from './tool-calls.ts';

// Tool phase: the scheduler of calls.

/** Why a call that may start has not: the history is full, too many bytes are in flight, or it must follow a running call. */
type HeldBack = 'history' | 'bytes' | 'order' | undefined;

/**
 * Schedules the calls of one response, in sequence or together. Each round applies the decisions that have arrived, gives up calls that
 * must no longer start, starts those that may, and waits. In every batch:
 *
 * - after a cancellation, a message that steers the run, the run's deadline, or a call that no worker could make, no further call starts:
 *   unstarted calls are interrupted, and running calls, or calls of which an attempt was made, are waited for;
 * - if the history of this execution is full, calls that have not started or wait for a decision are left to the next one, with null as
 *   their outcome;
 * - a call that a rule denies which was changed meanwhile does not start;
 * - calls that may outlast this execution do not keep the run in it: the next execution waits for them from its beginning;
 * - a call of a tool that declares what it changes starts after the earlier calls, and later calls start after it;
 * - changes are applied in call order, and before a call that must follow starts. A call that has waited for a decision or a time in
 *   between does not delay any other.
 */
class ToolScheduler {
  readonly #acting: ToolBatchContext;
  readonly #ports: RunPorts;
  readonly #batch: ToolBatch;
  readonly #inSequence: boolean;
  /** True if overlapping calls may have to follow one another. */
  readonly #isOrdered: boolean;
  /** The number of the run's changes when each call started, by index. */
  readonly #seen = new Map<number, number>();
  /** The indexes of the calls that have had to follow another call. */
  readonly #held = new Set<number>();
  readonly #inFlight: InFlight;
  /** Undefined if the current agent has no tool for such calls. */
  readonly #long: LongCalls | undefined;
  /** True once a call waits for a decision or a time: meanwhile the requests of callers are taken. */
  #takesRequests = false;

  constructor(acting: ToolBatchContext, ports: RunPorts, batch: ToolBatch) {
    this.#acting = acting;
    this.#ports = ports;
    this.#batch = batch;
    this.#inSequence = runsInSequence(acting.state, batch);
    this.#isOrdered = !this.#inSequence && batch.prepared.some((one) => one.type === 'execute' && declaresUpdates(one.invocation.tool));
    this.#inFlight = new InFlight((index, outcome) => {
      if (outcome.type !== 'left') batch.outcomes[index] = outcome;
    });
    this.#long = points.longCalls(acting.state, ports);
  }

  /** Returns the outcome of each call by index, null for calls that are left to the next execution. */
  async execute(): Promise<(ToolOutcome | null)[]> {
    const ports = this.#ports;
    const batch = this.#batch;
    const { state } = this.#acting;
    this.#followLongCalls();
    if (!ports.cancelRequested() && needsDecisions(state, batch)) this.#beginDecisions();
    for (;;) {
      const { received } = ports.inbox;
      if (this.#takesRequests) await takeDecisions(this.#acting, ports, batch);
      else points.gateOpens(state, ports);
      this.#completeBegun();
      if (!this.#isStopped()) {
        if (this.#takesRequests) askAboutOutcomes(this.#acting, ports, batch);
        this.#applyChanges();
        // Only on demand: in the sandbox every promise costs a stack trace. Meanwhile calls may have ended, and messages may have come.
        if (this.#hasPredicateToAsk()) {
          await this.#askPredicate();
          continue;
        }
      }
      if (this.#isStopped()) giveUp(state, ports, batch, this.#inFlight);
      const heldBack = this.#start();
      const postponed = this.#notePostponed();
      // Requests that callers sent earlier are taken before the wait.
      if (postponed !== undefined && !this.#takesRequests) {
        this.#takesRequests = true;
        continue;
      }
      if (this.#takesRequests || this.#long?.hasWaited) showWaiting(state, ports);
      if (this.#isWaitingLong) this.#leaveLongCalls(heldBack);
      if (this.#inFlight.count === 0) {
        if (heldBack !== undefined || this.#long?.isLeaving) return batch.outcomes;
        this.#applyChanges();
        if (!batch.outcomes.includes(null)) return batch.outcomes;
        // Only decisions are still awaited: approvers should see the results so far.
        this.#recordSoFar();
        if (continueBeforeTool(state, ports, batch)) return batch.outcomes;
      }
      await this.#wait(heldBack, { received, postponed });
    }
  }

  /**
   * True if no further call may start. A cancellation also stops calls that need no execution; other reasons matter only if a call has yet
   * to start.
   */
  #isStopped(): boolean {
    const { prepared, outcomes } = this.#batch;
    const isWaiting = prepared.some((one, index) => one.type === 'execute' && outcomes[index] === null && !this.#inFlight.has(index));
    return this.#ports.cancelRequested() || (isWaiting && isStopped(this.#acting.state, this.#ports, this.#batch));
  }

  /** Starts the calls that may start, in the model's order. Returns the reason if a call was held back. */
  #start(): HeldBack {
    const { state } = this.#acting;
    const { prepared, outcomes } = this.#batch;
    const held: number[] = [];
    let isFull: boolean | undefined;
    if (this.#long?.isLeaving) return 'history';
    for (const [index, one] of prepared.entries()) {
      if (outcomes[index] !== null || this.#inFlight.has(index)) continue;
      if (this.#inSequence && this.#inFlight.count > 0) return undefined;
      if (one.type === 'immediate') {
        outcomes[index] = one.outcome;
        continue;
      }
      const invocation = this.#startableNow(one);
      if (invocation === undefined) continue;
      // Checked for each call: a tool in this process may send a message as soon as it has started.
      if (isStopped(state, this.#ports, this.#batch)) {
        giveUp(state, this.#ports, this.#batch, this.#inFlight);
        return undefined;
      }
      // A rule may have changed since the calls were prepared.
      const denied = deniedAgain(state, { call: invocation.call, made: this.#batch.response, place: '' });
      if (denied !== undefined) outcomes[index] = { ...notRunResult('refused', denied), durationMs: 0 };
      if (denied !== undefined || (this.#long?.includes(invocation.tool) && this.#long.isHeldBack(invocation))) continue;
      // Checked once for all calls: the history does not grow until the calls are awaited.
      isFull ??= continueBeforeTool(state, this.#ports, this.#batch);
      if (isFull) continue;
      if (this.#isHeld(index, held)) {
        held.push(index);
        continue;
      }
      const bytes = this.#inSequence ? 0 : bytesInFlight(invocation);
      if (!this.#inFlight.hasRoomFor(bytes)) return 'bytes';
      this.#begin(index, invocation, bytes);
    }
    if (isFull) return 'history';
    return held.length === 0 ? undefined : 'order';
  }

  #begin(index: number, invocation: ToolInvocation, bytes: number): void {
    this.#seen.set(index, changesSoFar(this.#acting.state));
    this.#inFlight.add(index, bytes, this.#started(invocation));
  }

  /** Returns the call if it may start now: it needs no decision, and no capability postpones it. */
  #startableNow(one: ExecutableCall): ToolInvocation | undefined {
    const invocation = startable(this.#acting.state, one);
    return invocation && points.postpones(this.#acting.state, this.#ports.now(), invocation) === undefined ? invocation : undefined;
  }

  /** Records the calls that are postponed only by the time. Returns the wait that ends first. */
  #notePostponed(): WaitDeadline | undefined {
    const { state } = this.#acting;
    let first: WaitDeadline | undefined;
    delete state.postponed;
    for (const [index, one] of this.#batch.prepared.entries()) {
      if (one.type !== 'execute' || this.#batch.outcomes[index] !== null || this.#inFlight.has(index)) continue;
      const invocation = startable(state, one);
      const wait = invocation && points.postpones(state, this.#ports.now(), invocation);
      if (wait === undefined) continue;
      const { toolCallId: callId, name: toolName } = one.invocation.call;
      (state.postponed ??= []).push({ callId, toolName, until: isoTime(wait.at), reason: wait.summary });
      if (first === undefined || wait.at < first.at) first = wait;
    }
    return first;
  }

  /**
   * True if a call must follow a running call or an earlier held one. A call that was held also waits for local calls: a replay delivers
   * the ends of several at once, and the calls after them would start in another order.
   */
  #isHeld(index: number, earlier: readonly number[]): boolean {
    if (!this.#isOrdered) return false;
    const tool = toolAt(this.#batch, index);
    const others = [...this.#inFlight.indexes, ...earlier].map((other) => toolAt(this.#batch, other));
    const isHeld = others.some((other) => mustFollow(tool, other)) || (this.#held.has(index) && this.#runsLocally());
    if (isHeld) this.#held.add(index);
    return isHeld;
  }

  #runsLocally(): boolean {
    return [...this.#inFlight.indexes].some((index) => toolAt(this.#batch, index).tier === 'local');
  }

  #started(invocation: ToolInvocation): Promise<SettledCall> {
    const long = this.#long;
    if (!long?.includes(invocation.tool)) {
      return startTool(this.#acting.state, this.#ports, this.#takesRequests ? { ...invocation, timed: true } : invocation);
    }
    countStart(this.#acting.state, invocation);
    return long.run(invocation, this.#callsLeft(long));
  }

  get #isWaitingLong(): boolean {
    return this.#long !== undefined && this.#long.waiting > 0;
  }

  /** Waits for the calls that an earlier execution started, even if the run was cancelled or steered since. */
  #followLongCalls(): void {
    const long = this.#long;
    if (long === undefined) return;
    for (const [index, one] of this.#batch.prepared.entries()) {
      if (one.type !== 'execute' || this.#batch.outcomes[index] !== null || !long.isRunning(one.invocation)) continue;
      this.#inFlight.add(index, 0, long.run(one.invocation));
    }
  }

  /** Completes the calls of which an attempt was made before this phase, even if the run was cancelled or steered since. */
  #completeBegun(): void {
    if (this.#ports.hasBegun === undefined) return;
    for (const [index, one] of this.#batch.prepared.entries()) {
      if (this.#inSequence && this.#inFlight.count > 0) return;
      const isLeft = one.type === 'execute' && this.#batch.outcomes[index] === null && !this.#inFlight.has(index);
      if (isLeft && this.#ports.hasBegun(one.invocation)) this.#begin(index, one.invocation, bytesInFlight(one.invocation));
    }
  }

  /** Leaves the calls that may outlast this execution to the next one, once this one is full and no other call is running. */
  #leaveLongCalls(heldBack: HeldBack): void {
    const long = this.#long;
    if (long === undefined || long.isLeaving || this.#inFlight.count > long.waiting) return;
    if (hasMuchToRecord(this.#batch.outcomes)) this.#recordSoFar();
    if (heldBack === 'history' || continueBeforeTool(this.#acting.state, this.#ports, this.#batch, { leavesAgents: true })) long.leave();
  }

  #recordSoFar(): void {
    this.#applyChanges();
    recordResults(this.#acting, this.#ports, this.#batch.outcomes);
    this.#ports.recorded?.(this.#acting.state);
  }

  /** Returns the number of calls that may still start, including the one that is starting. */
  #callsLeft(long: LongCalls): CallsLeft {
    const { prepared, outcomes } = this.#batch;
    const left = prepared.filter((one, index) => one.type === 'execute' && outcomes[index] === null && !this.#inFlight.has(index));
    const agents = left.filter((one) => one.type === 'execute' && long.includes(one.invocation.tool));
    return { all: left.length, agents: agents.length };
  }

  #wait(heldBack: HeldBack, handled: { received: number; postponed: WaitDeadline | undefined }): Promise<void> {
    const calls = this.#inFlight;
    if (!this.#takesRequests && !this.#isWaitingLong)
      return heldBack === 'bytes' || (heldBack === 'order' && !this.#runsLocally()) ? calls.one() : calls.all();
    // A cancellation ends every wait at once: running calls receive it, and only they are awaited.
    if (this.#ports.cancelRequested()) return calls.one();
    void calls.watch();
    return waitForChange(this.#acting.state, this.#ports, { ...handled, ended: () => calls.ended });
  }

  #beginDecisions(): void {
    this.#takesRequests = true;
    awaitAgain(this.#acting.state, this.#ports);
    askForDecisions(this.#acting, this.#ports, this.#batch);
  }

  /** Applies the changes of ended calls in call order, never in completion order. */
  #applyChanges(): void {
    const { state } = this.#acting;
    const { prepared, outcomes } = this.#batch;
    for (const [index, one] of prepared.entries()) {
      if (this.#inFlight.has(index) && mayUpdate(toolAt(this.#batch, index))) return;
      const outcome = outcomes[index];
      if (outcome) outcomes[index] = applyChanges(state, one, outcome, this.#seen.get(index) ?? changesSoFar(state));
    }
  }

  /** True if the predicate of the next call must be called again: calls and predicates see the changes of earlier calls. */
  #hasPredicateToAsk(): boolean {
    if (this.#inSequence && this.#inFlight.count > 0) return false;
    return (
      isToReevaluate(this.#batch.prepared[this.#next()], this.#batch) && !continueBeforeTool(this.#acting.state, this.#ports, this.#batch)
    );
  }

  /** Calls the next call's predicate again. */
  async #askPredicate(): Promise<void> {
    const index = this.#next();
    const one = this.#batch.prepared[index];
    if (!isToReevaluate(one, this.#batch)) return;
    const reevaluated = await reevaluatePredicate(this.#ports, one);
    this.#batch.prepared[index] = reevaluated;
    if (reevaluated.requirement === undefined) return;
    if (this.#takesRequests) askForDecisions(this.#acting, this.#ports, this.#batch);
    else this.#beginDecisions();
  }

  /** Returns the index of the first call that may start; of overlapping calls, the first whose predicate must be called again; or -1. */
  #next(): number {
    const { prepared, outcomes } = this.#batch;
    const ready: number[] = [];
    return prepared.findIndex((one, index) => {
      if (one.type !== 'execute' || outcomes[index] !== null || this.#inFlight.has(index)) return false;
      if (this.#startableNow(one) === undefined) return false;
      const isNext = this.#inSequence || (isToReevaluate(one, this.#batch) && !this.#isHeld(index, ready));
      ready.push(index);
      return isNext;
    });
  }
}

function toolAt({ prepared }: ToolBatch, index: number): ToolSnapshot {
  const one = prepared[index];
  if (one?.type !== 'execute') throw new TypeError(`Call ${index} of the response is not one to execute`);
  return one.invocation.tool;
}

// Tool phase: the rounds of a response's calls.

/**
 * Runs the calls of a response, and after all others the calls that run last and see their results. Returns the outcome of each call by
 * index, null for calls that are left to the next execution.
 */
export function scheduleCalls(acting: ToolBatchContext, ports: RunPorts, batch: ToolBatch): Promise<(ToolOutcome | null)[]> {
  const { state, calls } = acting;
  const isLater = calls.map((call) => points.runsLast(state, call));
  // Not async: a plain call needs no additional promise.
  return isLater.includes(true) ? runInTwoTurns(acting, ports, batch, isLater) : runTogether(acting, ports, batch);
}

async function runInTwoTurns(
  acting: ToolBatchContext,
  ports: RunPorts,
  batch: ToolBatch,
  isLater: readonly boolean[],
): Promise<(ToolOutcome | null)[]> {
  const { state, calls } = acting;
  const outcomes = [...batch.outcomes];
  for (const later of [false, true]) {
    const indexes: number[] = calls.flatMap((_, index) => (isLater[index] === later ? [index] : []));
    // The run ends because no worker had the tool.
    if (later && noWorker(outcomes) !== undefined) return outcomes.map((outcome) => outcome ?? interruptedResult());
    const now = { ...acting, calls: pick(calls, indexes) };
    // The gates know what the other calls have come to: a call of an agent may have given the answer of the run.
    const isLast = later && points.callsEnded({ state, calls, outcomes }) !== undefined;
    const some: ToolBatch = {
      response: batch.response,
      prepared: isLast ? prepareCalls({ ...now, isLast }, pick(outcomes, indexes)).prepared : pick(batch.prepared, indexes),
      outcomes: indexes.map((index) => outcomes[index] ?? null),
      earlier: later ? outcomes : [],
    };
    const ended = await runTogether(now, ports, some);
    for (const [place, index] of indexes.entries()) outcomes[index] = ended[place] ?? null;
    if (ended.includes(null)) return outcomes;
  }
  return outcomes;
}

/** Runs calls with the scheduler, unless all have outcomes already: a response can continue between its calls and those that run last. */
function runTogether(acting: ToolBatchContext, ports: RunPorts, batch: ToolBatch): Promise<(ToolOutcome | null)[]> {
  const isDone = !batch.outcomes.includes(null);
  return isDone ? Promise.resolve(batch.outcomes) : new ToolScheduler(acting, ports, batch).execute();
}

function pick<Item>(items: readonly Item[], indexes: readonly number[]): Item[] {
  return indexes.flatMap((index) => {
    const item = items[index];
    return item === undefined ? [] : [item];
  });
}

// Tool phase: approval predicates after the deps have changed.

type ExecutableCall = PreparedCall & { type: 'execute' };

/** True for a call whose predicate was evaluated before earlier calls changed the deps. */
function isToReevaluate(one: PreparedCall | undefined, { outcomes }: ToolBatch): one is ExecutableCall {
  if (one?.type !== 'execute' || one.requirement !== undefined || one.askedAgain) return false;
  return one.invocation.tool.approval?.when === 'predicate' && outcomes.some(hasChangedDeps);
}

/** Calls the predicate of a call again, with the current deps. */
async function reevaluatePredicate(ports: RunPorts, one: ExecutableCall): Promise<ExecutableCall> {
  const requirement = await ports.reevaluateApproval(one.invocation);
  return { ...one, askedAgain: true, ...defined({ requirement }) };
}

function hasChangedDeps(outcome: ToolOutcome | null): boolean {
  return outcome?.type === 'result' && outcome.applied === true && outcome.contextUpdate !== undefined;
}

// Tool phase: calls whose outcome is unknown.

/** Asks a person about the calls whose outcome is unknown, if the agent is configured so. These calls wait for the answer. */
function askAboutOutcomes({ state }: ToolBatchContext, ports: RunPorts, { prepared, outcomes }: ToolBatch): void {
  if (state.snapshot.onUnknownOutcome !== 'ask' || ports.cancelRequested()) return;
  for (const [position, one] of prepared.entries()) {
    const outcome = outcomes[position];
    if (one.type !== 'execute' || outcome?.type !== 'result' || outcome.lost === undefined || outcome.applied) continue;
    outcomes[position] = null;
    const { call, tool, eventId, index, step } = one.invocation;
    const now = ports.now();
    requestDecision(state, ports, {
      kind: 'outcome',
      callId: call.toolCallId,
      toolName: tool.name,
      digest: `outcome/${eventId}/${index}`,
      key: `${eventId}/${index}/outcome`,
      step,
      requestedAt: now,
      // A deadline cannot decide that the call took effect.
      ...deadlineOf({ ...state.snapshot.approvals, onDeadline: 'reject' }, now),
      reason: `The call was started and its answer was lost (${outcome.lost}). Find out whether it took effect, and respond with its result, or reject.`,
      lost: outcome.lost,
    });
  }
}

// Tool phase: the conditions under which no further call starts.

/** True if no further call may start: the run is cancelled, past its deadline or steered elsewhere, or no worker could make a call. */
export function isStopped(state: RunState, ports: RunPorts, { outcomes }: Pick<ToolBatch, 'outcomes'>): boolean {
  return ports.cancelRequested() || ports.inbox.isSteered || noWorker(outcomes) !== undefined || endsByDeadline(state, ports.now());
}

/** Gives up the calls that have not started, and the decisions that they wait for. Running calls are left to end. */
function giveUp(state: RunState, ports: RunPorts, { prepared, outcomes }: ToolBatch, running: InFlight): void {
  const { pending } = state.approvals;
  state.approvals.pending = [];
  for (const [index, one] of prepared.entries()) {
    if (outcomes[index] !== null || running.has(index)) continue;
    if (one.type === 'immediate') outcomes[index] = ports.cancelRequested() ? interruptedResult() : one.outcome;
    // A call with a pending question about its outcome has started.
    else {
      const lost = lostAnswer(pending, one.invocation.call.toolCallId);
      outcomes[index] = lost === undefined ? interruptedResult() : unknownResult(one.invocation.tool.name, lost);
    }
  }
}

// Tool phase: calls that are running.

/** The outcome of a call, or `left` if the next execution waits for it. */
type SettledCall = ToolOutcome | LeftCall;

/**
 * The maximum bytes that calls may have in flight, arguments and results together. A workflow task takes 4 MB of commands and the server's
 * workflow state 8 MB of inputs, and as many results may return at once.
 */
export const MAX_BYTES_IN_FLIGHT = 3_000_000;

interface RunningCall {
  bytes: number;
  outcome: Promise<SettledCall>;
  /** Resolves when the call has ended. Absent until calls are watched individually. */
  ended?: Promise<void>;
}

/** The running calls of a response by index, and the bytes that they may add. */
class InFlight {
  /** The number of calls that have ended. */
  ended = 0;
  readonly #running = new Map<number, RunningCall>();
  readonly #onEnd: (index: number, outcome: SettledCall) => void;
  #bytes = 0;

  /** `onEnd` receives the outcome of each call. */
  constructor(onEnd: (index: number, outcome: SettledCall) => void) {
    this.#onEnd = onEnd;
  }

  /** The number of calls that are running. */
  get count(): number {
    return this.#running.size;
  }

  /** The indexes of the calls that are running. */
  get indexes(): MapIterator<number> {
    return this.#running.keys();
  }

  has(index: number): boolean {
    return this.#running.has(index);
  }

  /** True if a call of that size may start in addition to the running calls. A single call always may. */
  hasRoomFor(bytes: number): boolean {
    return this.#running.size === 0 || this.#bytes + bytes <= MAX_BYTES_IN_FLIGHT;
  }

  /** Reserves the bytes of a call until it has ended. The call must not reject. */
  add(index: number, bytes: number, outcome: Promise<SettledCall>): void {
    this.#bytes += bytes;
    this.#running.set(index, { bytes, outcome });
  }

  /** Makes each running call report its own end. Only on demand: in the sandbox every promise costs a stack trace. */
  watch(): Promise<void>[] {
    return [...this.#running].map(([index, call]) => (call.ended ??= call.outcome.then((outcome) => this.#end(index, outcome))));
  }

  /** Waits until one of the calls has ended. */
  async one(): Promise<void> {
    await Promise.race(this.watch());
  }

  /** Waits until all calls have ended. Not async, and a single call needs no array: in the sandbox every promise costs a stack trace. */
  all(): Promise<void> {
    const [only] = this.#running.size === 1 ? this.watch() : [];
    return only ?? this.#allTogether();
  }

  async #allTogether(): Promise<void> {
    const running = [...this.#running];
    const outcomes = await Promise.all(running.map(([, { outcome }]) => outcome));
    for (const [position, [index]] of running.entries()) {
      const outcome = outcomes[position];
      if (outcome !== undefined) this.#end(index, outcome);
    }
  }

  #end(index: number, outcome: SettledCall): void {
    const call = this.#running.get(index);
    if (call === undefined) return;
    this.#running.delete(index);
    this.#bytes -= call.bytes;
    this.ended += 1;
    this.#onEnd(index, outcome);
  }
}
