import { AsyncLocalStorage } from 'node:async_hooks';
import { activityInfo, Context } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import type { ActivityRequest } from '../../src/core/activity-requests/activity-request.ts';
import { toolRequestInBurst } from '../../src/core/activity-requests/activity-ports.ts';
import { modelAttempts, modelRequest } from '../../src/core/activity-requests/agent-requests.ts';
import type { RunBurstInput } from '../../src/core/activity-requests/contracts.ts';
import {
  type BegunCall,
  BURST_NOT_STORED,
  type BurstEntry,
  burstRecordOf,
  type BurstView,
  type Checkpoint,
  checkpointIn,
  entryOf,
  fromBurstState,
  mayBeReadAgain,
  mayRunInBurst,
  modelKey,
  type StoredBurst,
  type StoredEntry,
  storedEntry,
  toolKey,
} from '../../src/core/bursts/burst.ts';
import { burstPorts } from '../../src/core/bursts/burst-ports.ts';
import { defined } from '../../src/core/domain/json.ts';
import { mostNoteBytes } from '../../src/core/domain/parts.ts';
import type { BurstPolicy, ToolSnapshot } from '../../src/core/domain/agent.ts';
import { BYTE_BUDGETS, jsonBytes, MAX_PAYLOAD_BYTES } from '../../src/core/domain/byte-budgets.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import type { Principal } from '../../src/core/domain/run.ts';
import type { WindowEvent } from '../../src/core/domain/window.ts';
import { utf8Length } from '../../src/core/domain/text.ts';
import { Inbox } from '../../src/core/kernel/inbox.ts';
import type { ModelCall, RunPorts, ToolInvocation } from '../../src/core/kernel/ports.ts';
import { runTurn } from '../../src/core/kernel/run-loop.ts';
import type { RunState } from '../../src/core/kernel/run-state.ts';
import { burstKey, type DataView, EVENTS_READ, QUERIES, type RecordPage } from '../../src/core/protocol.ts';
import { answerQuery } from '../../src/core/queries/queries.ts';
import type { QueriedRun } from '../../src/core/queries/run-views.ts';
import { attemptNumber, RunCancelled } from '../attempts/attempt.ts';
import { attemptInfo } from '../attempts/attempt-info.ts';
import { callModelActivity } from '../model-calls/call-model.ts';
import { askRun, executionKey, queryRun, runIdOf, runKey, withRunAnswers } from '../run-queries/query-run.ts';
import type { Conversations } from '../run-queries/transcript.ts';
import type { ActivityRuntime } from '../runtime.ts';
import { runToolActivity } from '../tool-calls/run-tool.ts';
import { BurstReports, type CallEnd, callInside, HeldReports } from './call-inside.ts';
import { Checkpoints } from './checkpoints.ts';
import { loopDigest } from './loop-digest.ts';
import { realTurn } from '../../src/temporal/real-timers.ts';

/** Wraps an activity like all activities of a worker. */
type Checked = <Input, Output>(activity: (input: Input) => Promise<Output>) => (input: Input) => Promise<Output>;

/**
 * Creates the activity that makes several steps of a run. It runs the loop on a copy of the run's state, and returns only the outcomes of
 * the calls, which the run's loop then replays. If the loop asks for anything but a plain call, the burst ends before that begins.
 */
export function runBurstActivity(runtime: ActivityRuntime, checked: Checked): (input: RunBurstInput) => Promise<StoredBurst> {
  return async (input) => {
    // A different loop might make calls that the run does not ask for. Calls of earlier attempts elsewhere are already paid for.
    if (input.loop !== loopDigest()) return checkpointIn(attemptInfo().heartbeatDetails)?.record ?? { entries: [] };
    const begun = await beginning(runtime, input);
    return new Burst(runtime, checked, { input, ...begun }).run();
  };
}

/** The state of the run at the start of a burst. */
interface Beginning {
  state: RunState;
  /** The outcomes that earlier attempts stored. */
  stored: Checkpoint;
}

async function beginning(runtime: ActivityRuntime, input: RunBurstInput): Promise<Beginning> {
  const snapshot = await runtime.snapshots.load(input, input.agent);
  const window = await runtime.conversations.window(input, input);
  const carried = input.state ?? (await queryRun<BurstView>(input, QUERIES.burst, null)).state;
  if (carried === null) throw new TypeError(`Run "${runIdOf(input)}" has no state`);
  const principal = input.principal === undefined ? undefined : await principalOf(runtime, input);
  const state = fromBurstState({ runId: runIdOf(input), snapshot, window, ...(principal === undefined ? {} : { principal }) }, carried);
  const stored = checkpointIn(attemptInfo().heartbeatDetails) ?? { record: { entries: [] }, attempt: 1 };
  return { state, stored };
}

function principalOf({ principals }: ActivityRuntime, input: RunBurstInput): Promise<Principal | undefined> {
  return principals.of(input, async () => (await queryRun<DataView>(input, QUERIES.data, null)).principal);
}

/** The maximum bytes of JSON of all outcomes together: they travel in one payload. */
const MOST_BYTES = MAX_PAYLOAD_BYTES - 100_000;

/** No call that might not end in time begins within these milliseconds before the activity's end. */
const MARGIN_MS = 5_000;

interface BurstParts extends Beginning {
  input: RunBurstInput;
}

/** One attempt at a burst. */
class Burst {
  readonly #runtime: ActivityRuntime;
  readonly #input: RunBurstInput;
  readonly #state: RunState;
  readonly #policy: BurstPolicy;
  /** The outcomes that earlier attempts stored. */
  readonly #before: Checkpoint;
  readonly #checked: Checked;
  readonly #entries: BurstEntry[];
  /** The same outcomes in stored form. */
  readonly #stored: StoredEntry[];
  readonly #left: BegunCall[] = [];
  readonly #checkpoints: Checkpoints;
  readonly #begun = performance.now();
  /** Milliseconds from the start of the burst to the start of this attempt. */
  readonly #beforeMs: number;
  /** The end of the burst; rejected if it must not return its outcomes. */
  readonly #end = Promise.withResolvers<void>();
  /** Aborted when a request has arrived: the run waits for the end of the burst. */
  readonly #awaited = new AbortController();
  /** Aborted when the run, or its turn, is cancelled. */
  readonly #cancelled = new AbortController();
  /** Aborted when the worker or the server ends the activity. */
  readonly #ending = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  /** The attempts at the calls that have no outcome yet. */
  readonly #attempts = new Map<string, number>();
  /** The number of attempts of each ended call that took more than one. */
  readonly #lastAttempts: Record<string, number>;
  readonly #reports: BurstReports;
  /** When earlier attempts stored their last outcome, in milliseconds since the burst began. */
  readonly #storedUntil: number;
  #bytes: number;
  #bytesInFlight = 0;
  #at: number;
  #hasBegun = false;
  /** True once this attempt has a new outcome that is not just a read: no earlier attempt can have begun a call that depends on it. */
  #hasLearned = false;
  /** True if something was read that the server may not have. */
  #hasUnstoredRead = false;
  #hasAnswer = false;
  #isStopping = false;

  constructor(runtime: ActivityRuntime, checked: Checked, { input, state, stored }: BurstParts) {
    const { scheduledTimestampMs, currentAttemptScheduledTimestampMs } = activityInfo();
    this.#runtime = runtime;
    this.#checked = checked;
    this.#input = input;
    this.#state = state;
    this.#policy = state.snapshot.burst ?? { steps: 1, bytes: 0, seconds: 0 };
    this.#before = stored;
    this.#stored = [...stored.record.entries];
    this.#lastAttempts = { ...stored.record.attempts };
    this.#entries = this.#stored.map(entryOf);
    this.#bytes = jsonBytes(this.#stored);
    this.#storedUntil = Math.max(0, ...this.#entries.map(({ at }) => at));
    this.#beforeMs = Math.max(currentAttemptScheduledTimestampMs - scheduledTimestampMs, this.#storedUntil);
    this.#at = input.now + this.#storedUntil;
    for (const [key] of stored.running ?? []) this.#attempts.set(key, this.#attemptsBefore(key) + 1);
    this.#reports = new BurstReports(runtime.telemetry?.telemetry);
    this.#checkpoints = new Checkpoints({
      everyMs: state.snapshot.timing.heartbeatMs,
      details: () => this.#checkpoint,
      storing: () => this.#reports.storing(),
      onCancel: AsyncLocalStorage.bind(() => this.#learnWhy()),
    });
  }

  /** Makes the calls. Rejects only if a checkpoint could not be stored: the next attempt then continues with the outcomes that were. */
  async run(): Promise<StoredBurst> {
    const release = this.#listen();
    try {
      // The loop may end or fail by itself, as the run's loop then will.
      this.#loop().then(this.#end.resolve, () => this.#end.resolve());
      await this.#end.promise;
      this.#isStopping = true;
      while (this.#running.size > 0) await Promise.all(this.#running);
      // The result also stores them, unless it is lost.
      if (this.#checkpoints.isLong) {
        if (this.#hasUnstoredRead) this.#storeNext();
        await this.#checkpoints.stored()?.catch(() => undefined);
      }
    } finally {
      this.#checkpoints.stop();
      release();
    }
    this.#runtime.transcripts.keep(runKey(this.#input), this.#state.window);
    await this.#reports.returned();
    const isEmpty = this.#entries.length + this.#left.length === 0;
    return {
      ...this.#record,
      ...(this.#left.length === 0 ? {} : { left: this.#left }),
      ...(isEmpty && this.#awaited.signal.aborted ? { givenUp: true as const } : {}),
    };
  }

  /** Runs the loop. It first receives the outcomes of earlier attempts. */
  async #loop(): Promise<void> {
    const { seed, now, final, shortened, paused } = this.#input;
    let isFirst = true;
    const { ports } = burstPorts(this.#livePorts(), {
      state: () => undefined,
      make: () => {
        if (!isFirst) return undefined;
        isFirst = false;
        return Promise.resolve({ record: burstRecordOf(this.#before.record), seed, begunAt: now });
      },
      continueModelCall: () => this.#stop(),
      continueTool: () => this.#stop(),
      settled: () => realTurn(),
      growth: () => 0,
    });
    // Everything else that the loop asks for is left to the run.
    const limited = new Proxy(ports, {
      get: (target, name) => (Object.hasOwn(target, name) ? target[name as keyof RunPorts] : () => this.#stop()),
    });
    const position = { type: 'call_model' as const, final: final === true, ...defined({ shortened, paused }) };
    await withRunAnswers(
      (query, argument) => this.#answer(query, argument),
      () => runTurn(this.#state, limited, position),
    );
  }

  #livePorts(): RunPorts {
    const inbox = new Inbox();
    const inside: ActivityRuntime = { ...this.#runtime, conversations: conversationsOf(this.#state) };
    const callModel = this.#checked(callModelActivity(inside));
    const runTool = this.#checked(runToolActivity(inside));
    const run = {
      runId: this.#state.runId,
      snapshot: this.#state.snapshot,
      state: this.#state,
      ...(this.#input.run === undefined ? {} : { key: this.#input.run }),
    };
    const ports: Omit<RunPorts, 'verify' | 'reevaluateApproval' | 'parseEdits' | 'authorize' | 'until' | 'switchAgent'> = {
      now: () => this.#at,
      uuid: () => '',
      inbox,
      cancelRequested: () => false,
      continueDue: () => false,
      allows: () => true,
      abortModelCall: () => undefined,
      callModel: (call: ModelCall) => {
        const key = modelKey(call);
        // It depends on all outcomes, of which an earlier attempt may have had the reads.
        const mayHaveBegun = !this.#hasLearned;
        const isInFlight = mayHaveBegun && this.#attemptsBefore(key) > 0;
        if (this.#mustEnd || this.#isFull || (this.#isLate && !isInFlight)) return this.#stop();
        const parts = { request: modelRequest(run, call), work: callModel, bytes: BYTE_BUDGETS.modelResponse, mayHaveBegun };
        return this.#make(key, { ...parts, isRead: false, restsOnReads: true }, (model) => ({ model }));
      },
      runTool: (invocation: ToolInvocation) => {
        const { tool } = invocation;
        if (!mayRunInBurst(tool) || this.#awaited.signal.aborted) return this.#stop();
        // A crash before a read is stored counts as an attempt at the next model call, so with a single attempt the read is stored.
        const isRead = mayBeReadAgain(tool) && modelAttempts(this.#state.snapshot.timing) > 1;
        const parts = {
          request: toolRequestInBurst(run, invocation),
          work: runTool,
          bytes: mostBytes(tool) + mostNoteBytes(this.#state.snapshot),
          // It depends on the answer that contains it.
          mayHaveBegun: !this.#hasAnswer,
          isRead,
          restsOnReads: isRead,
          givenUp: this.#cancelled.signal,
        };
        return this.#make(toolKey(invocation), parts, (outcome) => ({ tool: outcome }));
      },
    };
    return ports as RunPorts;
  }

  /** True if no further step may begin. */
  get #mustEnd(): boolean {
    return this.#awaited.signal.aborted || this.#runtime.isStopping();
  }

  get #steps(): number {
    return this.#entries.filter(({ model }) => model !== undefined).length;
  }

  get #isFull(): boolean {
    return this.#steps > 0 && (this.#steps >= this.#policy.steps || this.#bytes >= this.#policy.bytes);
  }

  /** True once its time is over. A call that may have begun before a crash is still made: nobody else knows of its attempts. */
  get #isLate(): boolean {
    return this.#steps > 0 && this.#elapsedMs >= this.#policy.seconds * 1_000;
  }

  /** Milliseconds since the burst began, by the clock of the server up to this attempt. */
  get #elapsedMs(): number {
    return this.#beforeMs + performance.now() - this.#begun;
  }

  /** Makes a call, once the server has stored everything that it may depend on. */
  async #make<Input, Output, Outcome>(
    key: string,
    { request, work, bytes, mayHaveBegun, isRead, restsOnReads, givenUp }: BurstCall<Input, Output, Outcome>,
    ofKind: (outcome: Outcome) => Pick<BurstEntry, 'model' | 'tool'>,
  ): Promise<Outcome> {
    const before = mayHaveBegun ? this.#attemptsBefore(key) : 0;
    if (this.#hasUnstoredRead && !restsOnReads) this.#storeNext();
    try {
      await this.#checkpoints.stored();
    } catch (error) {
      this.#end.reject(await this.#notStored(error));
      return this.#stop();
    }
    if (this.#isStopping || this.#awaited.signal.aborted || !this.#hasRoomFor(request, bytes)) return this.#stop();
    this.#bytesInFlight += bytes;
    this.#hasBegun = true;
    const reports = new HeldReports();
    // Stays 0 if all attempts at the call were lost before, and none is made now.
    let attempt = 0;
    const counted = (argument: Input): Promise<Output> => {
      // Parked attempts count neither in the record nor in the attempt's reports.
      attempt = attemptNumber();
      this.#attempts.set(key, attemptInfo().attempt);
      return work(argument);
    };
    const making = callInside(jsonOf(request), counted, {
      before,
      begunAt: before > 0 ? activityInfo().scheduledTimestampMs + this.#storedUntil : Date.now(),
      earlier: this.#entries.filter((ended) => ended.key === key).length,
      held: reports,
      awaited: this.#awaited.signal,
      ending: this.#ending.signal,
      ...(givenUp === undefined ? {} : { givenUp }),
    });
    const learned = making.then((end) => {
      this.#reports.hold(reports, { isLeft: end.type === 'left' });
      if (end.type === 'ended') this.#noteAttempt(key, attempt);
      // A read that took several attempts is stored, or it might take as many again.
      return this.#learn(key, end, { isRead, isStored: !isRead || attempt > 1, ofKind });
    });
    this.#running.add(learned);
    const outcome = await learned;
    this.#running.delete(learned);
    this.#bytesInFlight -= bytes;
    return outcome === undefined || this.#isStopping ? this.#stop() : outcome.value;
  }

  /** Records the number of attempts of a call. A failed model call may be made again under the same key, and is then counted anew. */
  #noteAttempt(key: string, attempt: number): void {
    if (attempt === 1) delete this.#lastAttempts[key];
    else this.#lastAttempts[key] = attempt;
  }

  #learn<Outcome>(key: string, end: CallEnd<Outcome>, { isRead, isStored, ofKind }: LearnedCall<Outcome>): { value: Outcome } | undefined {
    if (end.type === 'left') {
      this.#left.push({ key, ...end.begun });
      this.#isStopping = true;
      return undefined;
    }
    const at = Math.round(this.#elapsedMs);
    // The loop of the run reads it from JSON.
    const text = JSON.stringify(storedEntry({ at, key, ...ofKind(end.outcome) } as BurstEntry));
    const stored = JSON.parse(text) as StoredEntry;
    const entry = entryOf(stored);
    this.#at = Math.max(this.#at, this.#input.now + at);
    if (!isRead) this.#hasLearned = true;
    if (entry.model !== undefined) this.#hasAnswer = true;
    this.#attempts.delete(key);
    this.#entries.push(entry);
    this.#stored.push(stored);
    this.#bytes += utf8Length(text);
    if (isStored) this.#storeNext();
    else this.#hasUnstoredRead = true;
    return { value: (entry.model ?? entry.tool) as Outcome };
  }

  /** Has everything so far stored before the next dependent call begins. */
  #storeNext(): void {
    this.#hasUnstoredRead = false;
    this.#checkpoints.changed();
  }

  /** True if the outcome of a call fits, and can arrive before the activity is over. */
  #hasRoomFor({ options }: Pick<ActivityRequest<never, never, never>, 'options'>, bytes: number): boolean {
    if (this.#bytes + this.#bytesInFlight + bytes > MOST_BYTES) return false;
    const leftMs = activityInfo().startToCloseTimeoutMs - (performance.now() - this.#begun);
    return this.#entries.length === 0 || Number(options.startToCloseTimeout) + MARGIN_MS <= leftMs;
  }

  /**
   * Returns the failure of an attempt whose checkpoint the server has not stored: its outcomes are for the next attempt, or for the run
   * after the last.
   */
  async #notStored(error: unknown): Promise<ApplicationFailure> {
    const { attempt, retryPolicy } = activityInfo();
    // The run has the outcomes from the failure of the last attempt.
    await this.#reports.notStored({ isLast: attempt === retryPolicy?.maximumAttempts });
    return ApplicationFailure.create({
      type: BURST_NOT_STORED,
      message: `The server has not stored the calls so far: ${errorMessage(error)}`,
      nonRetryable: false,
      details: [this.#checkpoint],
    });
  }

  get #checkpoint(): Checkpoint {
    const { seed } = this.#input;
    // Before its first call, this attempt has nothing to add.
    if (!this.#hasBegun) return { ...this.#before, seed };
    const { attempt } = activityInfo();
    // Until then, repeated reads say nothing about the calls that follow them, which earlier attempts may have begun.
    const since = this.#hasLearned ? attempt : Math.max(1, this.#before.attempt);
    return { record: this.#record, ...attemptsSince([...this.#attempts], attempt, since), seed };
  }

  /** The outcomes so far, as the server stores them. */
  get #record(): Checkpoint['record'] {
    const attempts = this.#lastAttempts;
    return { entries: this.#stored, ...(Object.keys(attempts).length === 0 ? {} : { attempts }) };
  }

  #attemptsBefore(key: string): number {
    return attemptsBefore(this.#before, activityInfo().attempt, key);
  }

  /** Ends the burst, once the running calls have ended. The returned promise never settles, so the loop stops here. */
  #stop(): Promise<never> {
    this.#isStopping = true;
    this.#end.resolve();
    return new Promise(() => undefined);
  }

  /** Listens for events that end the burst early. Returns a function that stops listening. */
  #listen(): () => void {
    const { aborts } = this.#runtime;
    const { controller, release } = aborts.register(executionKey(), burstKey(this.#input.run));
    const requested = (): void => {
      this.#awaited.abort();
      if (controller.signal.reason instanceof RunCancelled) this.#cancelled.abort();
    };
    controller.signal.addEventListener('abort', requested, { once: true });
    // The signal is aborted outside of any call's code.
    const context = Context.current();
    const inContext = AsyncLocalStorage.snapshot();
    const { cancellationSignal } = context;
    const ended = (): void => {
      if (context.cancellationDetails?.cancelRequested) inContext(() => this.#learnWhy());
      else {
        this.#ending.abort(cancellationSignal.reason);
        void this.#stop();
      }
    };
    if (cancellationSignal.aborted) ended();
    else cancellationSignal.addEventListener('abort', ended, { once: true });
    return () => {
      controller.signal.removeEventListener('abort', requested);
      cancellationSignal.removeEventListener('abort', ended);
      release();
    };
  }

  /** Asks why the run waits for the end of the burst: a worker in another process only learns by heartbeat that it does. */
  #learnWhy(): void {
    if (this.#awaited.signal.aborted) return;
    this.#awaited.abort();
    const execution = executionKey();
    const { aborts } = this.#runtime;
    const act = async (): Promise<void> => {
      const { isCancelled, isInterrupted } = await askRun<BurstView>(this.#input, QUERIES.burst, null);
      if (isCancelled) {
        this.#cancelled.abort();
        aborts.abort(execution);
      } else if (isInterrupted) aborts.interrupt(execution, this.#input.run ?? '');
    };
    // If the run does not answer, the burst ends after the calls in flight.
    void act().catch(() => undefined);
  }

  /** Answers a call's query in place of the run, which does not know yet what happened in the burst. */
  async #answer(query: string, argument: unknown): Promise<unknown> {
    const name = Object.entries(QUERIES).find(([, one]) => one === query)?.[0] as keyof typeof QUERIES | undefined;
    if (name === undefined) throw new TypeError(`A run has no query "${query}"`);
    const answer = answerQuery(name === 'record' ? await this.#withOlderEvents() : this.#queried, name, argument);
    return JSON.parse(JSON.stringify(answer)) as unknown;
  }

  get #queried(): QueriedRun {
    const { runId, snapshot, deps, startedAt } = this.#state;
    return {
      runId,
      agentName: snapshot.name,
      deps,
      startedAt,
      executions: 1,
      inbox: new Inbox(),
      authorizing: new Map(),
      snapshot,
      state: this.#state,
    };
  }

  /** Returns the run with the newest events that were recorded before the burst. */
  async #withOlderEvents(): Promise<QueriedRun> {
    const question = { last: EVENTS_READ.mostEvents, bytes: EVENTS_READ.mostBytes, steps: false };
    const older = await askRun<RecordPage>(this.#input, QUERIES.record, question);
    const { context } = this.#state;
    const state = { ...this.#state, firstOffset: older.from, context: { ...context, events: [...older.events, ...context.events] } };
    return { ...this.#queried, state };
  }
}

/**
 * Returns the number of lost attempts at a call that may precede this attempt at its burst: attempts by the burst attempt that stored the
 * checkpoint, and by later ones. Whether the last of them had begun the call is unknown, so it counts.
 */
export function attemptsBefore(
  { attempt: storedBy, running = [] }: Pick<Checkpoint, 'attempt' | 'running'>,
  attempt: number,
  key: string,
): number {
  const lost = attempt - Math.max(1, storedBy);
  const known = running.find(([one]) => one === key)?.[1];
  return known === undefined ? lost : known + lost - 1;
}

/**
 * Returns the attempts at the calls in flight as an earlier attempt at the burst would have stored them; each later attempt counts once.
 */
export function attemptsSince(
  attempts: readonly [key: string, made: number][],
  attempt: number,
  since: number,
): Pick<Checkpoint, 'attempt' | 'running'> {
  const running = attempts.map(([key, made]): [string, number] => [key, made - (attempt - since)]);
  return { attempt: since, ...(running.length === 0 ? {} : { running }) };
}

/** How to store the outcome of a call. */
interface LearnedCall<Outcome> extends Pick<BurstCall<unknown, unknown, unknown>, 'isRead'> {
  /** True if the next call waits until the server has stored it. */
  isStored: boolean;
  ofKind: (outcome: Outcome) => Pick<BurstEntry, 'model' | 'tool'>;
}

interface BurstCall<Input, Output, Outcome> {
  request: ActivityRequest<Input, Output, Outcome>;
  work: (input: Input) => Promise<Output>;
  /** The maximum bytes of its outcome. */
  bytes: number;
  /** True if an earlier attempt may have begun it: it depends on nothing that this attempt has learned. */
  mayHaveBegun: boolean;
  /** True if its outcome is stored together with the model's next answer. */
  isRead: boolean;
  /** True if it may begin before the server has stored the reads. */
  restsOnReads: boolean;
  givenUp?: AbortSignal;
}

function mostBytes({ maxResultBytes = BYTE_BUDGETS.toolResult }: ToolSnapshot): number {
  return maxResultBytes + BYTE_BUDGETS.deps + BYTE_BUDGETS.state;
}

/** Returns a request with a copied input, like an activity's: a tool may change its input, which must not change the state. */
function jsonOf<Input, Output, Outcome>(request: ActivityRequest<Input, Output, Outcome>): ActivityRequest<Input, Output, Outcome> {
  return { ...request, input: JSON.parse(JSON.stringify(request.input)) as Input };
}

/** The conversation of a burst's loop. */
function conversationsOf(state: RunState): Conversations {
  return {
    window: () => Promise.resolve(state.window),
    event: (_, { offset, id }: Pick<WindowEvent, 'offset' | 'id'>) =>
      Promise.resolve(state.window.events.find((event) => event.offset === offset && event.id === id)),
    addResponse: () => undefined,
    addResult: () => undefined,
  };
}
