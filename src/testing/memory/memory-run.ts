import { randomUUID } from 'node:crypto';
import { loopDigest } from '../../../activities/bursts/loop-digest.ts';
import { activityPorts, callInTime, toolRequest } from '../../core/activity-requests/activity-ports.ts';
import { type ActivityRequest, afterAttempts } from '../../core/activity-requests/activity-request.ts';
import { interruptibleRequest, modelRequest } from '../../core/activity-requests/agent-requests.ts';
import { burstRequest } from '../../core/activity-requests/burst-requests.ts';
import {
  childProblem,
  ENDED_SESSION,
  messageOfCall,
  messageProblem,
  referringToCall,
} from '../../core/activity-requests/child-requests.ts';
import { endedRequest } from '../../core/activity-requests/decision-requests.ts';
import { endHooksRequest } from '../../core/activity-requests/hook-requests.ts';
import { withBoundedDetails } from '../../core/closing-result.ts';
import { checkpointIn, makesBursts, withCheckpoint } from '../../core/bursts/burst.ts';
import { type BurstingPorts, burstPorts, type EndedBurst } from '../../core/bursts/burst-ports.ts';
import type { AgentSnapshot } from '../../core/domain/agent.ts';
import type { Decision } from '../../core/domain/approvals.ts';
import { askedBy, type ChildCall, type ChildOutcome } from '../../core/domain/children.ts';
import { DeadlineWatch } from '../../core/deadline-watch.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import { defined, type JsonObject } from '../../core/domain/json.ts';
import type { RunResultFields } from '../../core/domain/result.ts';
import { cancelledByParent, type SessionKind } from '../../core/domain/run-input.ts';
import {
  firstRequest,
  type FirstStart,
  firstState,
  nameOfStart,
  openingKind,
  type QueriedInput,
  queriedInput,
  rememberParentSession,
  withOpening,
} from '../../core/first-start.ts';
import type { MessageReceiver } from '../../core/handlers/decisions.ts';
import { takeSignal } from '../../core/handlers/requests.ts';
import { interpret, type InterpreterPorts } from '../../core/interpret.ts';
import { closeRun, closeUnstarted } from '../../core/kernel/run-loop.ts';
import type { Ending } from '../../core/kernel/next-step.ts';
import { Inbox } from '../../core/kernel/inbox.ts';
import type { ModelCall } from '../../core/kernel/ports.ts';
import type { RunState } from '../../core/kernel/run-state.ts';
import { ACTIVITIES, type SIGNALS } from '../../core/protocol.ts';
import { begunWork } from '../../core/sessions/run-session.ts';
import { type MemoryActivities, roundTrip } from './memory-worker.ts';
import type { VirtualTime } from './virtual-time.ts';
import { interruptOf } from '../../core/sessions/open-session.ts';
import { endedTurns, sessionOf } from '../../core/domain/sessions.ts';
import { realTurn } from '../../temporal/real-timers.ts';

/** The clock and the activities of a run in memory. */
interface MemoryRunParts {
  time: VirtualTime;
  activities: MemoryActivities;
  /** Makes a child of the run, on the same clock. */
  child: (runId: string, start: FirstStart) => MemoryRun;
}

/** One run of the loop in memory, in place of its workflow, with the same activities, answers and ports. */
export class MemoryRun {
  readonly runId: string;
  readonly agentName: string;
  deps: JsonObject;
  readonly startedAt: number;
  readonly executions = 1;
  readonly inbox = new Inbox();
  readonly authorizing = new Map<string, Decision>();
  snapshot?: AgentSnapshot;
  state?: RunState;
  result?: RunResultFields;
  burst?: { readonly begunAt: number; readonly isCancelled: boolean; cancel: () => void };
  readonly #start: FirstStart;
  readonly programInput?: NonNullable<QueriedInput['programInput']>;
  readonly document?: NonNullable<QueriedInput['document']>;
  readonly input?: NonNullable<QueriedInput['input']>;
  readonly opensAs?: SessionKind;
  readonly #parts: MemoryRunParts;
  readonly #children = new Set<MemoryRun>();
  readonly #sessions: MemorySessions;
  #isCancelled = false;
  #notifiesEnd = false;
  #modelCall: { cancel: () => void } | undefined;
  #deadline: DeadlineWatch | undefined;
  /** The functions that cancel the activities that the deadline of the run gives up. */
  readonly #bounded = new Set<() => void>();

  constructor(runId: string, start: FirstStart, parts: MemoryRunParts) {
    this.runId = runId;
    this.agentName = nameOfStart(start);
    this.deps = start.input.deps ?? {};
    Object.assign(this, queriedInput(start), openingKind(start));
    this.startedAt = parts.time.now();
    this.#start = start;
    this.#parts = parts;
    this.#sessions = new MemorySessions(parts.time);
    rememberParentSession(this.inbox, start);
  }

  /** Runs to the end, successful or not. Never throws. */
  async execute(): Promise<RunResultFields> {
    const { steps: _, ...ended } = await this.#end();
    await this.#sessions.close();
    this.result = ended;
    this.inbox.closed = true;
    this.#parts.time.changed();
    const result = (this.result = await this.#withHooks(ended));
    if (this.snapshot?.notifyEnded || this.#notifiesEnd) await this.#parts.activities.performAnyway(endedRequest({}, result));
    return withBoundedDetails(result);
  }

  /** Calls the hooks at the end of the run. */
  async #withHooks(result: RunResultFields): Promise<RunResultFields> {
    const { snapshot } = this;
    const request = snapshot && endHooksRequest(Object.assign(this, { snapshot }), result);
    return request === undefined ? result : this.#parts.activities.performAnyway(request);
  }

  async #end(): Promise<RunResultFields> {
    try {
      return this.#withReason(await this.#begin());
    } catch (error) {
      return this.#failed('internal', errorMessage(error));
    }
  }

  cancel(reason: string): void {
    if (reason !== '') this.inbox.cancelReason = reason;
    this.#isCancelled = true;
    this.#parts.activities.cancel();
    for (const child of this.#children) child.cancel(cancelledByParent(this.runId));
    this.#parts.time.changed();
  }

  /** Handles a new message in the inbox: an interrupt cancels the running model call. */
  received(): void {
    if (this.inbox.isInterrupted) this.#modelCall?.cancel();
    this.burst?.cancel();
    if (interruptOf(this.inbox) !== undefined) this.#parts.activities.interrupt();
    this.#parts.time.changed();
  }

  /** Returns the result with the reason of the cancellation, as a workflow adds it when it closes. */
  #withReason(result: RunResultFields): RunResultFields {
    const { cancelReason } = this.inbox;
    return result.status === 'cancelled' && cancelReason !== undefined ? { ...result, cancelReason } : result;
  }

  async #begin(): Promise<RunResultFields> {
    const resolved = await this.#parts.activities.perform(firstRequest({}, this.#start));
    if (resolved.type === 'cancelled') return this.#ended({ status: 'cancelled', stopReason: 'cancelled', output: '' });
    if (resolved.type === 'failed') this.#notifiesEnd = resolved.notifiesEnd === true;
    if (resolved.type === 'failed') return this.#failed(resolved.code, resolved.message);
    const { snapshot, opening, notices } = resolved;
    const start = withOpening(this.#start, opening);
    const run = Object.assign(this, { snapshot, deps: start.input.deps ?? {} });
    const { ports, end: endBursts } = run.#ports(snapshot);
    const { runId, deps, startedAt } = run;
    run.state = firstState(start, { runId, snapshot, deps, startedAt, notices }, ports);
    const end = await interpret(run.state, ports);
    endBursts();
    if (end.type === 'finished') return end.result;
    throw new Error('A run in memory has no next execution to continue in');
  }

  #ports(snapshot: AgentSnapshot): BurstingPorts<InterpreterPorts> {
    const { time } = this.#parts;
    const isInterrupted = (): boolean => interruptOf(this.inbox) !== undefined && sessionOf(this.state ?? {})?.turn !== undefined;
    const isCancelled = (): boolean => this.#isCancelled || isInterrupted();
    const until: InterpreterPorts['until'] = async (isMet, deadline) => {
      if (deadline === undefined || deadline.at > time.now()) await time.until(() => isCancelled() || isMet(), deadline?.at);
    };
    this.#deadline = new DeadlineWatch({
      state: () => this.state,
      inbox: this.inbox,
      now: () => time.now(),
      until,
      giveUp: () => {
        this.burst?.cancel();
        for (const cancel of this.#bounded) cancel();
      },
    });
    const run = Object.assign(this, { snapshot });
    const ports: InterpreterPorts = {
      ...activityPorts(run, (call) => this.#perform(call), isCancelled),
      runChild: (call) => this.#runChild(call),
      childRunId: (prefix) => prefix + randomUUID().slice(0, 8),
      inbox: this.inbox,
      now: () => time.now(),
      uuid: () => randomUUID(),
      callEventId: () => randomUUID(),
      abortModelCall: () => this.#modelCall?.cancel(),
      cancelRequested: isCancelled,
      until,
      continueDue: () => false,
      continueBeforeSleep: () => false,
      withinTurn: (turn) => turn(),
      inBackground: begunWork,
      closeKept: (kept) => this.#sessions.close(kept.map(({ runId }) => runId)),
      turnEnded: async () => time.changed(),
      endChildren: async () => undefined,
      allows: () => true,
    };
    return burstPorts(ports, {
      state: () => this.state,
      make: (call) => (makesBursts(run.snapshot) ? run.#makeBurst(call, isCancelled) : undefined),
      continueModelCall: (call, begun) =>
        this.#perform(afterAttempts(interruptibleRequest(modelRequest(run, call), isCancelled), begun, time.now())),
      continueTool: (invocation, begun) =>
        this.#perform(afterAttempts(callInTime(toolRequest(run, invocation), isCancelled), begun, time.now())),
      settled: () => time.during(realTurn()),
      delivered: () => void time.during(realTurn()),
      growth: () => 0,
    });
  }

  /** Makes a burst in an activity. A request ends it. */
  #makeBurst(call: ModelCall, isCancelled: () => boolean): Promise<EndedBurst | undefined> | undefined {
    const { state, snapshot } = this;
    if (state === undefined || snapshot === undefined) return undefined;
    const seed = randomUUID();
    const begunAt = this.#parts.time.now();
    const request = burstRequest(Object.assign(this, { state, snapshot }), call, { seed, now: begunAt, loop: loopDigest() });
    this.#deadline?.begin();
    const { ended, cancel, stored } = this.#parts.activities.begin(request);
    this.burst = {
      begunAt,
      cancel,
      get isCancelled() {
        return isCancelled();
      },
    };
    return ended.then((record) => {
      delete this.burst;
      const known = withCheckpoint(record, checkpointIn(stored()));
      return known && { record: known, seed, begunAt };
    });
  }

  /** Performs an activity. A message can give up the model call in flight. */
  async #perform<Input, Output, Outcome>(call: ActivityRequest<Input, Output, Outcome>): Promise<Outcome> {
    const isBounded = !call.outlastsDeadline && this.#deadline?.begin() === true;
    const { ended, cancel } = this.#parts.activities.begin(call);
    if (isBounded) this.#bounded.add(cancel);
    if (call.name === ACTIVITIES.callModel) this.#modelCall = { cancel };
    const outcome = await ended;
    if (call.name === ACTIVITIES.callModel) this.#modelCall = undefined;
    this.#bounded.delete(cancel);
    return outcome;
  }

  /** Runs a child as a separate run. In memory, no run is continued in another execution. */
  async #runChild({ runId, start: whole, of, turn, next, isGivenUp = () => false }: ChildCall): Promise<ChildOutcome> {
    const isOver = (): boolean => this.#isCancelled || isGivenUp();
    if (turn !== undefined && next !== undefined) return this.#sessions.runTurn({ runId, turn, next, of, isGivenUp: isOver });
    if (whole === undefined) throw new TypeError(`The child "${runId}" has no start`);
    const problem = childProblem(whole);
    if (problem !== undefined) return { type: 'failed', code: 'child_failed', message: problem, unstarted: true };
    const { kind, input } = roundTrip(referringToCall(whole, of));
    const { time } = this.#parts;
    const child = this.#parts.child(runId, kind === 'agent' ? { type: 'input', input } : { type: 'program', input });
    if (turn !== undefined) return this.#sessions.runTurn({ runId, turn, session: child, isGivenUp: isOver });
    this.#children.add(child);
    let ended = false;
    const running = child.execute().finally(() => (ended = true));
    // A message that interrupts cancels the child, and the run continues.
    void time.until(() => ended || isGivenUp()).then(() => (ended ? undefined : child.cancel(cancelledByParent(this.runId))));
    const result = roundTrip(await running);
    this.#children.delete(child);
    time.changed();
    return this.#isCancelled || isGivenUp() ? { type: 'cancelled', result } : { type: 'ended', result };
  }

  #failed(code: string, message: string): RunResultFields {
    return this.#ended({ status: 'error', stopReason: 'error', output: '', error: { code, message } });
  }

  #ended(ending: Ending): RunResultFields {
    const { time } = this.#parts;
    return this.state === undefined
      ? { ...closeUnstarted(this, time, ending), ...(this.programInput === undefined ? {} : { units: [] }) }
      : closeRun(this.state, time, { ...ending, output: this.state.thought });
  }
}

/** A child session of a run in memory. */
interface KeptSession extends MessageReceiver {
  /** Undefined until the session has ended. */
  readonly result?: RunResultFields;
  /** Runs the session to its end. Never rejects. */
  execute(): Promise<RunResultFields>;
  /** Handles what has arrived in the inbox. */
  received(): void;
}

/** A turn of a child session of a run in memory. */
interface MemoryTurn extends Pick<ChildCall, 'runId' | 'next'> {
  turn: number;
  of?: ChildCall['of'] | undefined;
  /** The session, if the turn is its first. */
  session?: KeptSession;
  /** True once the turn is given up. */
  isGivenUp: () => boolean;
}

/** The child sessions of a run in memory, in place of their workflows. */
class MemorySessions {
  readonly #time: VirtualTime;
  readonly #sessions = new Map<string, { session: KeptSession; ended: Promise<RunResultFields> }>();

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** Runs a turn to its end. A turn that is given up is interrupted, and the session continues. */
  async runTurn({ runId, turn, next, of, session: first, isGivenUp }: MemoryTurn): Promise<ChildOutcome> {
    if (first !== undefined) this.#sessions.set(runId, { session: first, ended: first.execute() });
    const session = this.#sessions.get(runId)?.session;
    const problem = next === undefined ? undefined : messageProblem(next);
    if (problem !== undefined) return { type: 'failed', ...problem, unstarted: true };
    if (session === undefined || session.inbox.closed) return { type: 'failed', ...ENDED_SESSION, unstarted: true };
    if (next !== undefined) this.#signal(session, 'nextTurn', messageOfCall(next, of));
    const { call } = askedBy(turn, of);
    const ended = (): RunResultFields | undefined => {
      const result = endedTurns(session.state ?? {}).find((one) => (call === undefined ? one.turn === turn : one.call === call));
      return result === undefined ? session.result : { ...result, steps: [] };
    };
    await this.#time.until(() => ended() !== undefined || isGivenUp());
    const isInterrupted = ended() === undefined;
    if (isInterrupted) this.#signal(session, 'interrupt', { turn, ...defined({ call }) });
    await this.#time.until(() => ended() !== undefined);
    const result = ended();
    if (result === undefined) throw new TypeError(`Turn ${turn} of session "${runId}" has no result`);
    return { type: isInterrupted ? 'cancelled' : 'ended', result: roundTrip(result) };
  }

  /** Closes sessions, all of them by default, and waits for their ends. */
  async close(runIds: Iterable<string> = this.#sessions.keys()): Promise<void> {
    const closing = [...runIds].flatMap((runId) => this.#sessions.get(runId) ?? []);
    for (const { session } of closing) if (!session.inbox.closed) this.#signal(session, 'close', {});
    await Promise.all(closing.map(({ ended }) => ended));
  }

  #signal(session: KeptSession, name: keyof typeof SIGNALS, input: object): void {
    takeSignal(session, name, roundTrip(input), this.#time.now());
    session.received();
  }
}
