import { LonghaulError } from '../domain/errors.ts';
import { spentIn } from '../domain/usage.ts';
import { Inbox } from '../kernel/inbox.ts';
import { endsByDeadline, recordFailedCall, recordInterrupted, spend } from '../kernel/limits.ts';
import { CALL_AT_DEADLINE } from '../domain/tool-calls.ts';
import {
  runningResult,
  type ModelCall,
  type ModelCallOutcome,
  type RunPorts,
  type ToolInvocation,
  type ToolOutcome,
} from '../kernel/ports.ts';
import { recordEvent, type RunState } from '../kernel/run-state.ts';
import { type BegunCall, type BurstEntry, burstIds, type BurstRecord, modelKey, toolKey } from './burst.ts';

/** The functions that make bursts for a run, and continue their unfinished calls. */
export interface Bursts extends BurstListener {
  /** Returns the state of the run, or undefined before it has one. */
  state(): RunState | undefined;
  /** Makes a burst that begins with a model call. Undefined: the run makes the call itself. */
  make(call: ModelCall): Promise<EndedBurst | undefined> | undefined;
  /** Complete a call that a burst has begun. */
  continueModelCall(call: ModelCall, begun: BegunCall): Promise<ModelCallOutcome>;
  continueTool(invocation: ToolInvocation, begun: BegunCall): Promise<ToolOutcome>;
  /** The number of bytes that a burst may add to the history. */
  growth(): number;
}

/** The ports of a run with bursts. */
export interface BurstingPorts<Ports extends RunPorts> {
  ports: Ports;
  /** Called when the loop has ended. Throws if it has not requested all outcomes. */
  end: () => void;
}

/**
 * Adds bursts to the ports of a run. A model call begins a burst; its outcomes are then played back to the loop, which makes all decisions
 * again: nothing else interprets the outcomes. While outcomes remain, the loop sees the run as the burst saw it: without requests, and at
 * the time of the last outcome. Any other port is the run's own, and only called once the burst is over.
 */
export function burstPorts<Ports extends RunPorts>(ports: Ports, bursts: Bursts): BurstingPorts<Ports> {
  const player = new BurstPlayer(ports, bursts);
  const end = (): void => player.end();
  const decorated: RunPorts = {
    ...othersOf(ports, end),
    callModel: (call) => player.callModel(call),
    runTool: (invocation) => player.runTool(invocation),
    hasBegun: (invocation) => player.hasBegun(invocation),
    now: () => player.playing?.at ?? Math.max(ports.now(), player.at),
    uuid: (event) => player.nextId?.(event) ?? ports.uuid(event),
    cancelRequested: () => player.playing === undefined && ports.cancelRequested(),
    continueDue: (growth, leaving) =>
      player.playing === undefined && ports.continueDue({ ...growth, bytes: growth.bytes + bursts.growth() }, leaving),
    allows: (change) => ports.allows(change),
    abortModelCall: () => ports.abortModelCall(),
    switchAgent: (snapshot) => ports.switchAgent(snapshot),
    get inbox() {
      return player.playing === undefined ? ports.inbox : player.noRequests;
    },
    recorded: (state) => {
      if (player.playing === undefined) ports.recorded?.(state);
    },
    noted: (state) => {
      if (player.playing === undefined) ports.noted?.(state);
    },
  };
  return { ports: decorated as Ports, end };
}

/** The maximum number of model calls that the run makes itself before it tries a burst again. */
const MOST_SINGLE_CALLS = 64;

/** Makes bursts and plays back their outcomes. */
class BurstPlayer {
  readonly noRequests = new Inbox();
  /** Returns the id of the next event that the run creates itself. Undefined before the first burst. */
  nextId: RunPorts['uuid'] | undefined;
  readonly #ports: RunPorts;
  readonly #bursts: Bursts;
  #burst: RecordedBurst | undefined;
  /**
   * The number of consecutive bursts without a result: their workers have another release or are stopping, or the first call was left to
   * the run.
   */
  #inVain = 0;
  /** The number of model calls that the run makes itself before the next burst. */
  #singleCalls = 0;

  constructor(ports: RunPorts, bursts: Bursts) {
    this.#ports = ports;
    this.#bursts = bursts;
  }

  /** The burst with remaining outcomes. */
  get playing(): RecordedBurst | undefined {
    return this.#burst?.isPlaying ? this.#burst : undefined;
  }

  /** The time of the last outcome. The clock of a burst may be ahead of the server's, but the time of a run never goes back. */
  get at(): number {
    return this.#burst?.at ?? 0;
  }

  callModel(call: ModelCall): Promise<ModelCallOutcome> {
    const key = modelKey(call);
    // No model call is made during another call: all earlier outcomes have been requested.
    if (this.playing?.isEarly(key)) this.end();
    const outcome = this.playing?.take(key, this.#modelOutcome);
    if (outcome !== undefined) return outcome;
    const begun = this.#burst?.takeBegun(key);
    if (begun !== undefined) return this.#bursts.continueModelCall(call, begun);
    const made = call.beside || this.#isSingle() ? undefined : this.#bursts.make(call);
    return made === undefined ? this.#ports.callModel(call) : this.#begin(call, made);
  }

  runTool(invocation: ToolInvocation): Promise<ToolOutcome> {
    const key = toolKey(invocation);
    const outcome = this.playing?.take(key, toolOutcome);
    if (outcome !== undefined) return outcome;
    const begun = this.#burst?.takeBegun(key);
    if (begun === undefined) return this.#ports.runTool(invocation);
    if (this.#isLate && invocation.tool.effect !== 'once') return Promise.resolve(runningResult(CALL_AT_DEADLINE));
    return this.#bursts.continueTool(invocation, begun);
  }

  /** True for a call that the burst has begun and left to the run, once the loop has all outcomes. */
  hasBegun(invocation: Pick<ToolInvocation, 'offset' | 'index'>): boolean {
    return this.playing === undefined && this.#burst?.hasBegun(toolKey(invocation)) === true;
  }

  end(): void {
    const unasked = this.#burst?.unasked ?? [];
    if (unasked.length === 0) return;
    this.#burst = undefined;
    recordUnasked(this.#bursts.state(), this.#ports, unasked);
    throw new LonghaulError('internal', `The run does not request calls that its burst made: ${unasked.map(nameOf).join(', ')}`);
  }

  async #begin(call: ModelCall, made: Promise<EndedBurst | undefined>): Promise<ModelCallOutcome> {
    const ended = await made;
    this.#noteWorth(ended?.record);
    if (ended === undefined) return this.#isInterrupted ? { type: 'interrupted' } : this.#ports.callModel(call);
    const burst = new RecordedBurst(ended, this.#bursts);
    burst.at = Math.max(burst.at, this.at);
    this.#burst = burst;
    this.nextId = burstIds(ended.seed);
    const key = modelKey(call);
    const outcome = burst.take(key, this.#modelOutcome);
    if (outcome !== undefined) return outcome;
    if (ended.record.givenUp) return { type: this.#ports.cancelRequested() ? 'cancelled' : 'interrupted' };
    // The burst cannot have made any other call before this one.
    this.end();
    const begun = burst.takeBegun(key);
    if (this.#isInterrupted) return interruptedCall(begun);
    return begun === undefined ? this.#ports.callModel(call) : this.#bursts.continueModelCall(call, begun);
  }

  /**
   * True if a message that arrived during a burst interrupts its first call, which the run reads before it makes any call, or if the
   * deadline of the run does.
   */
  get #isInterrupted(): boolean {
    return this.#isLate || (this.#ports.inbox.isInterrupted && !this.#ports.cancelRequested());
  }

  /** True once the deadline of the run has passed. */
  get #isLate(): boolean {
    const state = this.#bursts.state();
    return state !== undefined && endsByDeadline(state, this.#ports.now());
  }

  /** True if the run makes the call itself because bursts have had no result. */
  #isSingle(): boolean {
    if (this.#singleCalls === 0) return false;
    this.#singleCalls -= 1;
    return true;
  }

  /**
   * Records whether a burst was worth its activity. After one that was not, the run makes one call itself before the next burst, then two,
   * four, and so on. A burst that left its first call to the run was not, because the run makes the call in a separate activity anyway.
   */
  #noteWorth({ entries, givenUp }: BurstRecord = { entries: [] }): void {
    if (givenUp) return;
    this.#inVain = entries.length > 0 ? 0 : this.#inVain + 1;
    this.#singleCalls = this.#inVain === 0 ? 0 : Math.min(MOST_SINGLE_CALLS, 2 ** (this.#inVain - 1));
  }

  readonly #modelOutcome = ({ model }: BurstEntry): ModelCallOutcome => {
    if (model === undefined) throw new LonghaulError('internal', 'A burst has the outcome of a tool for a model call');
    // Like a call of the run itself: a call that is given up while the run is not cancelled is given up for a message.
    return model.type === 'cancelled' && !this.#ports.cancelRequested() ? { ...model, type: 'interrupted' } : model;
  };
}

/** Returns the outcome of a model call that a message interrupts between two attempts. The known cost of the attempts is recorded. */
function interruptedCall(begun: BegunCall | undefined): ModelCallOutcome {
  const spent = spentIn(begun?.details);
  return spent === undefined ? { type: 'interrupted' } : { type: 'failed', code: 'model_error', message: 'It was interrupted', spent };
}

function toolOutcome({ tool }: BurstEntry): ToolOutcome {
  if (tool === undefined) throw new LonghaulError('internal', 'A burst has the outcome of a model call for a tool');
  return tool;
}

/** Returns the other ports. The loop calls none of them while there are outcomes that it has not requested. */
function othersOf<Ports extends RunPorts>(ports: Ports, end: () => void): Ports {
  const checked = Object.entries(ports).map(([name, port]: [string, unknown]) => {
    if (typeof port !== 'function') return [name, port];
    return [
      name,
      (...args: unknown[]): unknown => {
        end();
        return (port as (...given: unknown[]) => unknown)(...args);
      },
    ];
  });
  return Object.fromEntries(checked) as Ports;
}

/** Names the call of an outcome, for people. */
function nameOf({ key, tool }: BurstEntry): string {
  return tool === undefined ? `the model call after ${key.slice(1)} events` : `tool call ${key.slice(1)}, whose effect is unknown`;
}

/** Records the cost of outcomes that were never requested. They were paid for, whatever happens to the run. */
function recordUnasked(state: RunState | undefined, clock: Pick<RunPorts, 'now' | 'uuid'>, unasked: readonly BurstEntry[]): void {
  if (state === undefined) return;
  const { model, name: author } = state.snapshot;
  for (const { model: outcome } of unasked) {
    if (outcome?.type === 'failed') recordFailedCall(state, clock, model, outcome);
    if (outcome?.type === 'cancelled' && outcome.partial !== undefined) recordInterrupted(state, clock, model, outcome.partial);
    if (outcome?.type !== 'response') continue;
    const { answeredBy, usage, content, failedAttempts, hosted } = outcome.response;
    const spending = spend(state, { model: answeredBy ?? model, usage, answer: content, failedAttempts, hosted });
    // The answer has no place in the conversation: only its usage is recorded.
    recordEvent(state, clock, { author, content: [], ...spending, failed: { code: 'internal' } });
  }
}

/** Calls back as soon as the currently running code has finished. */
const LATER = Promise.resolve();

/** A burst that has ended. */
export interface EndedBurst {
  record: BurstRecord;
  /** The ids of the events that the run creates itself are derived from it. */
  seed: string;
  /** The time when the burst began, in milliseconds since the epoch. */
  begunAt: number;
}

/** The environment of a loop that receives outcomes. */
export interface BurstListener {
  /** Resolves once the loop has done everything that it can. */
  settled(): Promise<void>;
  /** Called when the loop has received an outcome, so that waiting conditions are checked. */
  delivered?(): void;
}

/**
 * Plays the outcomes of a burst back to the run's loop, each to its call, in the order in which the burst's loop learned of them: before
 * the next one, the loop does everything that it can with the earlier ones.
 */
export class RecordedBurst {
  /** The time when the burst learned of the last outcome that the loop has, in milliseconds since the epoch. */
  at: number;
  readonly #begunAt: number;
  readonly #entries: readonly BurstEntry[];
  readonly #left: BegunCall[];
  readonly #listener: BurstListener;
  /** The indexes of the entries that the loop has requested. */
  readonly #taken = new Set<number>();
  /** The functions that pass outcomes to the waiting calls, by entry index. */
  readonly #waiting = new Map<number, (entry: BurstEntry) => void>();
  #delivered = 0;
  #isDelivering = false;

  constructor({ record, begunAt }: EndedBurst, listener: BurstListener) {
    this.at = begunAt;
    this.#begunAt = begunAt;
    this.#entries = record.entries;
    this.#left = [...(record.left ?? [])];
    this.#listener = listener;
  }

  /** True while there are outcomes that the loop has not received. */
  get isPlaying(): boolean {
    return this.#delivered < this.#entries.length;
  }

  /** The entries that the loop has not requested. */
  get unasked(): BurstEntry[] {
    return this.isPlaying ? this.#entries.filter((_, index) => !this.#taken.has(index)) : [];
  }

  /** Removes and returns a call that the burst began and left to the run. */
  takeBegun(key: string): BegunCall | undefined {
    const index = this.#left.findIndex((one) => one.key === key);
    return index < 0 ? undefined : this.#left.splice(index, 1)[0];
  }

  /** True for a call that the burst began and left to the run. */
  hasBegun(key: string): boolean {
    return this.#left.some((one) => one.key === key);
  }

  /**
   * Returns the outcome of a call, read by `read`, when it is its turn; undefined if the burst has not completed the call. Not async: every
   * promise in the sandbox costs time, and each step has two calls.
   */
  take<Outcome>(key: string, read: (entry: BurstEntry) => Outcome): Promise<Outcome> | undefined {
    if (!this.isPlaying) return undefined;
    const index = this.#entries.findIndex((entry, at) => entry.key === key && !this.#taken.has(at));
    if (index < 0) return undefined;
    this.#taken.add(index);
    return new Promise((resolve, reject) => {
      this.#waiting.set(index, (entry) => {
        try {
          resolve(read(entry));
        } catch (error) {
          reject(error);
        }
      });
      if (this.#isDelivering) return;
      this.#isDelivering = true;
      // The loop may be about to start more calls, which see the time before the first outcome.
      void LATER.then(() => this.#deliver());
    });
  }

  /** True if the loop requests this entry before it has requested all earlier ones. */
  isEarly(key: string): boolean {
    const index = this.#entries.findIndex((entry) => entry.key === key);
    return this.#entries.some((_, before) => !this.#taken.has(before) && (index < 0 || before < index));
  }

  /** `isSettled`: the loop has done everything that it can. */
  #deliver(isSettled = false): void {
    const index = Math.min(...this.#waiting.keys());
    // An earlier outcome that is not requested even then is not waited for: it remains unrequested.
    if (index !== this.#delivered && !isSettled) return this.#deliverOnceSettled();
    const give = this.#waiting.get(index);
    const entry = this.#entries[index];
    if (give !== undefined && entry !== undefined) {
      this.#waiting.delete(index);
      this.#delivered += 1;
      this.at = Math.max(this.at, this.#begunAt + entry.at);
      give(entry);
      this.#listener.delivered?.();
    }
    // The loop acts on it before it receives the next one.
    if (this.#waiting.size > 0) return this.#deliverOnceSettled();
    this.#isDelivering = false;
  }

  #deliverOnceSettled(): void {
    void this.#listener.settled().then(() => this.#deliver(true));
  }
}
