import type { OwnLimits } from '../domain/agent.ts';
import { type Decision, type PendingApproval, pendingOf, RAISE_LIMITS } from '../domain/approvals.ts';
import type { ToolResult } from '../domain/content.ts';
import type { ErrorCode } from '../domain/errors.ts';
import { defined, type JsonObject, type JsonValue, parsedJson } from '../domain/json.ts';
import type { LimitChanges, LimitReached } from '../domain/limits.ts';
import type { StepDocument } from '../domain/program-document.ts';
import type { ProgramState, RecordedCall, StepState } from '../domain/program-run.ts';
import { type AnswerVerdict, type StepError, type StepNote, type Violation, withAttempt } from '../domain/verdicts.ts';
import { nearestDeadline, requestDecision, settleDecisions, settleRemembered, showWaiting, WAITING } from '../kernel/approvals.ts';
import { endsByDeadline, fixedDeadline, limitReached } from '../kernel/limits.ts';
import { takeRequests } from '../kernel/messages.ts';
import type { Growth } from '../kernel/ports.ts';
import { noteError, recordEvent, type RunState } from '../kernel/run-state.ts';
import { Admission, type AdmissionVerdict, ChildBudget } from './budget.ts';
import { cutText } from '../domain/byte-budgets.ts';
import type { Event } from '../domain/record.ts';
import { windowEventBytes } from '../domain/window.ts';
import { isoTime } from '../domain/time.ts';
import { addressText, callIdAt, indexOf, type StepAddress } from './program-index.ts';
import type { LoadOutcome, ProgramPorts } from './program-ports.ts';
import { debugText, emptyAnswerFailure, newStepError, type StepPlace } from './step-errors.ts';
import { anchorFailure, validationFailure } from './ask.ts';

// Programs: the run that its steps share.

/** The reason why no further step starts: running steps end first. */
export type Stop =
  | { type: 'cancelled' }
  | { type: 'limit'; reached: LimitReached }
  /** The history of this execution is full. */
  | { type: 'continue' };

/** One activity: three events of its own, and three of the workflow task. */
export const ACTIVITY: Growth = { events: 6, bytes: 3_000 };

/** A step that waits until it may load outputs. `opens`: it is a block, which keeps them while its steps run. */
export interface WaitingLoad {
  at: StepAddress;
  opens: boolean;
}

/** A program's run: its state, its ports, and the decisions that its steps wait for. */
export class ProgramRun {
  readonly state: RunState;
  readonly program: ProgramState;
  readonly ports: ProgramPorts;
  /** The bytes that local tool calls may have produced since a call was last made remote instead. */
  localBytes = 0;
  /** The outputs that this execution has loaded from the payload store, by id, and their bytes. */
  readonly loads = new Map<string, Promise<LoadOutcome>>();
  loadedBytes = 0;
  /** The addresses of the steps that failed in earlier executions. */
  readonly failedBefore: readonly string[];
  /** The steps that wait until they may load outputs, in the order in which they asked. */
  readonly waitingLoads = new Set<WaitingLoad>();
  /** The run will have less to do in its next execution than this one had when it began, for example because a step has ended. */
  hasMovedOn = false;
  /** The number of children that steps wait for. */
  children = 0;
  /** The run's limits, as shared by its steps and children. */
  readonly budget: ChildBudget;
  readonly #admission: Admission;
  readonly turns = new StepTurns();
  #stop: Stop | undefined;
  /** The steps that wait for a decision, by call id. */
  readonly #waiting = new Map<string, (decision: Decision | undefined) => void>();
  /** The number of requested approvals. */
  #requested = 0;

  readonly #runSteps: (run: ProgramRun, list: StepList) => Promise<StepsEnd>;

  /** `runSteps` runs the steps inside a block. */
  constructor(
    { state, program, ports }: Pick<ProgramRun, 'state' | 'program' | 'ports'>,
    runSteps: (run: ProgramRun, list: StepList) => Promise<StepsEnd>,
  ) {
    this.#runSteps = runSteps;
    this.state = state;
    this.program = program;
    this.ports = ports;
    this.failedBefore = [...program.steps].flatMap(([at, { status }]) => (status === 'failed' ? [at] : []));
    this.budget = new ChildBudget(state, program);
    this.#admission = new Admission(state, ports);
    const refusedRaise = this.#takeDecided(({ toolName }) => toolName === RAISE_LIMITS);
    if (refusedRaise !== undefined) this.#admission.decide(refusedRaise);
  }

  runSteps(list: StepList): Promise<StepsEnd> {
    return this.#runSteps(this, list);
  }

  /** The reason why no further step starts, or undefined. */
  get stop(): Stop | undefined {
    const { state, ports } = this;
    if (ports.cancelRequested()) this.stopBecause({ type: 'cancelled' });
    else if (this.isLate && this.#stop?.type !== 'limit') {
      const reached = limitReached(state, ports.now(), { final: true });
      if (reached !== undefined) this.stopBecause({ type: 'limit', reached });
    }
    return this.#stop;
  }

  /** True once the deadline ends the run: then no output counts. */
  get isLate(): boolean {
    return endsByDeadline(this.state, this.ports.now());
  }

  /** True once there is such a reason. For use in conditions, which must not change anything. */
  get isStopped(): boolean {
    return this.#stop !== undefined;
  }

  /** True once the run continues in its next execution. For use in conditions, which must not change anything. */
  get isContinuing(): boolean {
    return this.#stop?.type === 'continue';
  }

  /** True if another step may run in parallel with the calling one. */
  get isSideBySide(): boolean {
    return this.budget.lanes > 1;
  }

  /** The deadline that ends the run, in milliseconds since the epoch. Infinity without one, or if a person is asked at limits. */
  get deadline(): number {
    return fixedDeadline(this.state);
  }

  /** Records that the run has moved on. */
  moveOn(): void {
    this.hasMovedOn = true;
    delete this.program.loadsFirst;
  }

  /**
   * Prevents further steps from starting, and releases steps that wait for a decision. At a limit, answers and reviews that people owe still
   * end first, like calls in flight, unless the deadline of the run is over (`isLate`). A cancellation replaces any other reason, and the end
   * of the execution replaces a limit, which the next execution finds again.
   */
  stopBecause(stop: Stop, { isLate = false } = {}): void {
    const isNext = stop.type === 'continue' && this.#stop?.type === 'limit';
    if (this.#stop === undefined || stop.type === 'cancelled' || isNext) this.#stop = stop;
    for (const [callId, release] of this.#waiting) {
      if (stop.type === 'limit' && !isLate && this.#costsNothing(pendingOf(this.state.approvals, callId))) continue;
      this.#waiting.delete(callId);
      release(undefined);
    }
  }

  /** True for an answer to a question, and for the review of an output. */
  #costsNothing({ kind, at = '' }: Pick<PendingApproval, 'kind' | 'at'> = { kind: 'tool' }): boolean {
    return kind === 'question' || this.program.steps.get(at)?.progress?.held !== undefined;
  }

  /**
   * Waits while the run is paused, and until there is room within the limits. Returns true if a step may start, which it must do
   * immediately: a model call then counts as in flight, and a tool call keeps its place until `unreserve`. `tool`: the name of the tool
   * that the step calls; `roomFor`: the same for a call that waits for a decision first, and keeps no place.
   */
  async mayStart(call: 'model' | 'other' | { tool: string } | { roomFor: string }): Promise<boolean> {
    const { budget, ports } = this;
    const verdict = (): AdmissionVerdict<true> => {
      if (call === 'model') return budget.onModelCall(ports.now());
      if (call === 'other') return budget.onOther(ports.now());
      return 'tool' in call ? budget.onToolCall(call.tool, ports.now()) : budget.roomForCall(call.roomFor, ports.now());
    };
    return (await this.#admit(verdict)) === true;
  }

  /** Waits in the same way for a child's share of the limits. Returns undefined if the run stops first. */
  async giveChild(at: string, own: OwnLimits): Promise<LimitChanges | undefined> {
    const { budget, ports } = this;
    return this.#admit(() => budget.onChild(at, own, ports.now()), { isChild: true });
  }

  /** Reclaims the share of an ended child. */
  takeBack(at: string, { isUnreported = false } = {}): void {
    this.budget.release(at, { isUnreported });
    this.#admission.lookAgain();
  }

  /** Reclaims the place of a tool call, which starts now or waits again. */
  unreserve(tool: string): void {
    this.budget.unreserve(tool);
    this.#admission.lookAgain();
  }

  /** Records that a model call has ended. */
  endModelCall(): void {
    this.program.asksInFlight -= 1;
    this.#admission.lookAgain();
  }

  async #admit<Granted>(verdict: () => AdmissionVerdict<Granted>, { isChild = false } = {}): Promise<Granted | undefined> {
    const isOver = (): boolean => this.isStopped;
    const ready = (): Promise<boolean> => this.#isReady();
    const found = await this.#admission.wait(verdict, { isChild, isOver, ready });
    if (found?.type === 'limit') this.stopBecause({ type: 'limit', reached: found.reached });
    return found?.type === 'start' ? found.granted : undefined;
  }

  /** Waits while the run is paused. Returns true if a step may start, as far as the run and its history are concerned. */
  async #isReady(): Promise<boolean> {
    const { state, ports } = this;
    takeRequests(state, ports);
    if (ports.inbox.paused) await this.#waitWhilePaused();
    if (this.stop === undefined && ports.continueDue(ACTIVITY)) this.stopBecause({ type: 'continue' });
    return this.#stop === undefined;
  }

  async #waitWhilePaused(): Promise<void> {
    const { state, ports } = this;
    while (ports.inbox.paused && this.stop === undefined) {
      if (state.status !== 'paused') {
        state.status = 'paused';
        ports.recorded?.(state);
      }
      if (ports.continueDue(WAITING)) return this.stopBecause({ type: 'continue' });
      const { received } = ports.inbox;
      await ports.until(() => !ports.inbox.paused || ports.inbox.received > received || this.#stop !== undefined);
      takeRequests(state, ports);
    }
    if (state.status === 'paused') state.status = 'running';
    showWaiting(state, ports);
  }

  /** True for a call whose decision was requested, in this execution or an earlier one, and is not carried out yet. */
  isRequested(call: string): boolean {
    return pendingOf(this.state.approvals, call) !== undefined || this.program.decided?.some(({ callId }) => callId === call) === true;
  }

  /**
   * Waits for the decision about a call. Requests it, unless that was done already or a remembered decision applies. Returns undefined if
   * the run stops first: then the call continues waiting in the next execution.
   */
  async decision(waiting: PendingApproval): Promise<Decision | undefined> {
    const { state, ports } = this;
    const decided = this.#takeDecided(({ callId }) => callId === waiting.callId);
    if (decided !== undefined) return decided;
    if (pendingOf(state.approvals, waiting.callId) === undefined) {
      const remembered = settleRemembered(state, ports, waiting);
      if (remembered !== undefined) return remembered;
      requestDecision(state, ports, waiting);
    }
    const { stop } = this;
    if (stop !== undefined && (stop.type !== 'limit' || !this.#costsNothing(waiting))) return undefined;
    this.#requested += 1;
    return new Promise((resolve) => {
      this.#waiting.set(waiting.callId, resolve);
    });
  }

  /** Applies decisions and requests until `isDone`. */
  async attend(isDone: () => boolean): Promise<void> {
    const { state, ports } = this;
    while (!isDone() && this.stop?.type !== 'cancelled') {
      const { received } = ports.inbox;
      const requested = this.#requested;
      takeRequests(state, ports);
      for (const decision of await settleDecisions(state, ports)) this.#decide(decision);
      const { changes } = this.#admission;
      if (this.#stop === undefined) this.#admission.settle();
      this.#showStatus();
      const isWaiting = state.approvals.pending.length > 0;
      // The deadline of the run also ends these waits.
      const isBounded = isWaiting || ports.inbox.paused;
      const isOpen = this.#stop === undefined || this.#waiting.size > 0;
      if (isBounded && isOpen) {
        const reached = limitReached(state, ports.now(), { final: true });
        const isLate = endsByDeadline(state, ports.now());
        if (reached !== undefined && (isLate || this.#waitsInVain())) this.stopBecause({ type: 'limit', reached }, { isLate });
      }
      // A child may run for days. Calls in flight belong to this execution: a step continues the run once they have ended.
      const isIdle = isWaiting || (this.children > 0 && this.program.asksInFlight === 0);
      if (isIdle && isOpen && !this.isContinuing && ports.continueDue(WAITING)) this.stopBecause({ type: 'continue' });
      const stop = this.#stop;
      await ports.until(
        () =>
          isDone() ||
          ports.inbox.received > received ||
          this.#requested > requested ||
          this.#admission.changes > changes ||
          this.#stop !== stop,
        isBounded && (stop === undefined || this.#waiting.size > 0) ? nearestDeadline(state, ports.now()) : undefined,
      );
    }
  }

  /**
   * True if people decide only about steps that could not start once a limit is reached. An answer to a question and the review of an output
   * cost nothing.
   */
  #waitsInVain(): boolean {
    const { pending } = this.state.approvals;
    if (pending.length === 0 || this.state.limits.onLimit === 'ask') return false;
    return pending.every(({ kind }) => kind === 'tool') && [...this.program.steps.values()].every(({ progress }) => !progress?.held);
  }

  #showStatus(): void {
    const { state, ports } = this;
    if (!ports.inbox.paused) return showWaiting(state, ports);
    // Its children are paused along with it: nothing continues.
    const isPaused = this.children > 0 && this.program.asksInFlight === 0;
    if (!isPaused || state.status === 'paused') return;
    state.status = 'paused';
    ports.recorded?.(state);
  }

  #decide(decision: Decision): void {
    if (decision.toolName === RAISE_LIMITS) {
      const reached = this.#admission.decide(decision);
      // The run's limits are carried over, but a refusal to raise them would not be.
      if (this.isContinuing && decision.type === 'reject') this.#keep(decision);
      else if (reached !== undefined) this.stopBecause({ type: 'limit', reached });
      return;
    }
    const release = this.#waiting.get(decision.callId);
    this.#waiting.delete(decision.callId);
    if (release === undefined) this.#keep(decision);
    else release(decision);
  }

  /** Keeps a decision for a step that is not waiting for it yet in this execution, or no longer is. */
  #keep(decision: Decision): void {
    this.program.decided = [...(this.program.decided ?? []), decision];
  }

  #takeDecided(isIt: (decision: Decision) => boolean): Decision | undefined {
    const { decided = [] } = this.program;
    const found = decided.find(isIt);
    if (found === undefined) return undefined;
    const left = decided.filter((one) => one !== found);
    if (left.length > 0) this.program.decided = left;
    else delete this.program.decided;
    return found;
  }
}

// Programs: the length of workflow tasks and executions.

/** The maximum number of steps that begin in one workflow task. Each condition may take some milliseconds. */
const STEPS_AT_ONCE = 200;

/** The maximum number of steps that begin in one execution, whose worker keeps all of their records in memory. */
const MAX_STEPS = 100_000;

/** The part of a run that says whether it is stopped or waiting. */
interface StoppableRun {
  readonly ports: ProgramPorts;
  readonly stop: object | undefined;
  readonly isStopped: boolean;
  mayStart(call: 'other'): Promise<boolean>;
  stopBecause(stop: { type: 'limit'; reached: LimitReached }): void;
}

/**
 * Ends the workflow task after many steps, and stops a run in which too many steps begin. Skipped and reused steps and blocks need no
 * activity, so neither waits nor the size of the history bound their number: a task with too many would exceed the server's time limit, and
 * be repeated forever.
 */
class StepTurns {
  #begun = 0;
  /** The time of the current workflow task, which does not change during it. */
  #taskAt = 0;
  #inTask = 0;
  #wait: Promise<boolean> | undefined;

  /**
   * Counts a step. Returns undefined if it may begin immediately; otherwise it may begin when the promise resolves to true, and not at all
   * if it resolves to false.
   */
  next(run: StoppableRun): Promise<boolean> | undefined {
    this.#begun += 1;
    const now = run.ports.now();
    this.#inTask = now === this.#taskAt ? this.#inTask + 1 : 1;
    this.#taskAt = now;
    if (this.#inTask > STEPS_AT_ONCE) this.#wait ??= this.#waitFor(run);
    return this.#wait;
  }

  async #waitFor(run: StoppableRun): Promise<boolean> {
    const { ports } = run;
    const message = `${MAX_STEPS} steps have begun in one execution`;
    const mayStart = await run.mayStart('other');
    if (mayStart && this.#begun > MAX_STEPS)
      run.stopBecause({ type: 'limit', reached: { stopReason: 'step_limit', message, proposal: {} } });
    else if (mayStart) await ports.until(() => run.isStopped, { at: ports.now() + 1, summary: `pause after ${STEPS_AT_ONCE} steps` });
    this.#inTask = 0;
    this.#wait = undefined;
    return run.stop === undefined;
  }
}

// Programs: the ends of attempts, steps and lists of steps.

/** The end of a step or a list of steps. `stopped`: the run ends or continues as new before that. */
export type StepsEnd = 'completed' | 'failed' | 'stopped';

export type AttemptEnd =
  /** `id`: the id under which workers keep the output. */
  | { type: 'done'; output: JsonValue; id: string }
  /** `id`: the id of the failure's event. `isFinal`: no further attempt may be made. */
  | { type: 'failed'; error: StepError; id: string; isFinal?: true }
  /** The run stops: the attempt is made or continued in the next execution. */
  | { type: 'stopped' };

/** The list of steps of one unit, case, branch, item or round. */
export interface StepList {
  unit: string;
  steps: readonly StepDocument[];
  /** The index of the item or round of each block around the list. */
  indexes: readonly number[];
}

// Programs: the events and states of steps.

export interface RunningStep {
  address: StepAddress;
  /** The text of the address. */
  at: string;
  state: StepState;
}

/** Records an event of a step. Its content leaves the window at once, because no model of the run reads it. */
export function recordNote({ state, ports }: ProgramRun, note: StepNote, event: Partial<Event> = {}): void {
  recordEvent(state, ports, { author: note.at, content: [], ...event, step: note });
  const isOpenCall = event.content?.some(({ type }) => type === 'tool_call') === true;
  if (!isOpenCall) forgetEvents(state.window, ({ id }) => id === state.window.lastEventId);
}

/** Removes events that are no longer needed from the window. */
function forgetEvents(window: ProgramRun['state']['window'], isForgotten: (event: { id: string }) => boolean): void {
  const kept = window.events.filter((event) => !isForgotten(event));
  if (kept.length === window.events.length) return;
  window.events = kept;
  window.bytes = kept.reduce((sum, event) => sum + windowEventBytes(event), 0);
}

/** Returns the running state of a step. Begins the step if it has not begun. */
export function beginStep(run: ProgramRun, address: StepAddress): RunningStep {
  const at = addressText(address);
  const { program, ports } = run;
  const { kind } = indexOf(program.document).get(address.unit, address.step);
  let state = program.steps.get(at);
  if (state === undefined) {
    state = { kind, status: 'running', startedAt: ports.now(), attempts: 0 };
    program.steps.set(at, state);
    recordNote(run, { at, kind, type: 'start' });
  }
  return { address, at, state };
}

/** Records an attempt that failed before anything was sent. No further attempt follows, because it would fail in the same way. */
export function failedAtOnce(run: ProgramRun, { at, state }: RunningStep, error: StepError): AttemptEnd & { type: 'failed' } {
  noteError(run.state, error.message);
  recordNote(run, { at, kind: state.kind, type: 'attempt', attempt: state.attempts, error });
  return { type: 'failed', error, id: run.state.window.lastEventId, isFinal: true };
}

/** Ends a step, and drops the data that only a running step needs. */
export function endStep(run: ProgramRun, { at, state }: RunningStep, end: Pick<StepState, 'status'> & Partial<StepState>): void {
  Object.assign(state, end, { endedAt: run.ports.now() });
  delete state.progress;
  run.moveOn();
  const { kind, status, error, reason, reused } = state;
  const note: StepNote = { at, kind, type: 'end', startedAt: isoTime(state.startedAt) };
  if (status !== 'running') note.status = status;
  recordNote(run, {
    ...note,
    ...defined({ error, reason }),
    ...(reused ? { reused } : {}),
  });
  run.ports.recorded?.(run.state);
}

// Programs: recorded calls, which people decide and tools execute.

interface StepCall {
  /** The name of the tool, question or review. */
  name: string;
  arguments: JsonObject;
  /** Added to the step's address, because a step may have several calls. */
  suffix?: string;
}

/**
 * Reserves the id of a tool call's event before the run may stop for its next execution: if the workflow task is lost after the call, and
 * the run continues as new instead of calling, the next execution calls with the same idempotency key.
 */
export function reserveCallEvent(run: ProgramRun, running: RunningStep): void {
  const { progress } = running.state;
  if (progress?.call !== undefined || progress?.callEventId !== undefined) return;
  running.state.progress = { ...progress, callEventId: run.ports.callEventId(callIdAt(running.at, running.state.attempts)) };
}

export function recordCall(run: ProgramRun, running: RunningStep, { name, arguments: args, suffix }: StepCall): RecordedCall {
  const { at, state } = running;
  const callId = callIdAt(at, state.attempts, suffix);
  const { callEventId: id = run.ports.callEventId(callId), ...progress } = state.progress ?? {};
  const note: StepNote = { at, kind: state.kind, type: 'start', attempt: state.attempts };
  recordNote(run, note, { id, content: [{ type: 'tool_call', toolCallId: callId, name, arguments: args }] });
  const { through, lastEventId } = run.state.window;
  const call = { callId, eventId: lastEventId, offset: through - 1 };
  state.progress = { ...progress, call };
  return call;
}

/** The result of a call. `error`: the failure of the attempt, if the call failed it. `startedAt`: when the call started, if it was made. */
type CallResult = Pick<ToolResult, 'name' | 'status' | 'content'> & Pick<StepNote, 'startedAt' | 'error'>;

/** Records the result of a call. Afterwards, the call's event is no longer needed. */
export function recordResult(
  run: ProgramRun,
  { at, state }: RunningStep,
  call: RecordedCall,
  { name, status, content, ...noted }: CallResult,
): void {
  const note: StepNote = { at, kind: state.kind, type: 'attempt', attempt: state.attempts, ...noted };
  recordNote(run, note, { content: [{ type: 'tool_result', toolCallId: call.callId, name, status, content }] });
  closeCall(run, { state }, call);
}

/** Forgets the event of an ended call. */
function closeCall(run: ProgramRun, { state }: Pick<RunningStep, 'state'>, { eventId }: RecordedCall): void {
  forgetEvents(run.state.window, ({ id }) => id === eventId);
  delete state.progress?.call;
}

// Programs: the answer of an `ask`.

/** The maximum bytes of the text next to a structured answer in a step's result. */
const TEXT_BYTES = 500;

interface CheckedAnswer {
  note: StepNote;
  verdict: AnswerVerdict;
  /** The number of characters of the prompt. */
  promptLength: number;
  text: string;
  /** The structured value of the answer, if there is one besides its text. */
  structured?: JsonValue | undefined;
}

/** Records an answer with its verdict, which decides whether the attempt failed. Returns the failure. */
export function recordAnswer(
  run: ProgramRun,
  { state, address }: RunningStep,
  { note, verdict, promptLength, text, structured }: CheckedAnswer,
  event: Partial<Event>,
): StepError | undefined {
  const { document } = run.program;
  const { type } = indexOf(document).get(address.unit, address.step).step.ask ?? {};
  run.state.thought = text;
  const error = verdictError(verdict, { place: address, answer: structured ?? text, type, lenient: document.lenient });
  if (error !== undefined) noteError(run.state, error.message);
  const details = withAttempt(state.attemptDetails ?? [], { attempt: state.attempts, verdict, ...defined({ error }) });
  if (details.length > 0) state.attemptDetails = details;
  delete state.text;
  if (structured !== undefined && isMoreThanJson(text)) state.text = cutText(text, TEXT_BYTES);
  const answered = { verdict, promptLength, answerLength: text.length, ...(structured === undefined ? {} : { structured: true as const }) };
  recordNote(run, { ...note, ...answered, ...defined({ error }) }, event);
  return error;
}

/** True for a text that is more than the structured answer itself. */
function isMoreThanJson(text: string): boolean {
  return text.trim() !== '' && parsedJson(text) === undefined;
}

/** A checked answer, and the declarations of its step. */
interface JudgedAnswer {
  place: StepPlace;
  answer: JsonValue;
  /** The type declared by the step. */
  type?: string | undefined;
  /** Like AXON's executor, a lenient program reports low confidence like any other violation. */
  lenient?: boolean | undefined;
}

/** Returns the failure of an attempt by the checks of its answer: first the anchors, then the form, then the validator. */
function verdictError(verdict: AnswerVerdict, { place, answer, type, lenient = false }: JudgedAnswer): StepError | undefined {
  if (verdict.empty) return emptyAnswerFailure(place);
  const error = verdictFailure(verdict, place, lenient);
  if (error === undefined) return undefined;
  const { context } = error;
  return { ...error, context: { ...context, ...(type ? { expectedType: type } : {}), actualValue: debugText(answer) } };
}

function verdictFailure(
  { anchors, misfit, violations = [], confidence }: AnswerVerdict,
  place: StepPlace,
  lenient: boolean,
): StepError | undefined {
  if (anchors?.passed === false) return anchorFailure(anchors, place);
  if (misfit !== undefined)
    return newStepError('validation_failed', `The answer does not have the form of the step: ${misfit}`, { ...place, details: misfit });
  const errors = violations.filter(({ severity }) => severity === 'error');
  if (errors.length === 0) return undefined;
  const [first] = errors;
  if (first !== undefined && !lenient && errors.every(isTooUnsure)) return newStepError('confidence_too_low', first.message, place);
  return validationFailure({ isValid: false, violations, confidence: confidence ?? null }, place);
}

function isTooUnsure({ rule }: Violation): boolean {
  return rule === 'confidence_floor';
}

// Programs: a step's failure as data.

/** Returns the failure of a step, with its unit and its name. */
export function stepFailure({ address }: RunningStep, code: ErrorCode, message: string, details = ''): StepError {
  return newStepError(code, message, { step: address.step, unit: address.unit, details });
}
