import { createHash } from 'node:crypto';
import type { Client } from '@temporalio/client';
import type { LoadedDataConverter } from '@temporalio/common';
import { decodeArrayFromPayloads } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { jsonBytes } from '../core/domain/byte-budgets.ts';
import { UsageError } from '../core/domain/errors.ts';
import { withoutUncountedAttempts } from '../core/domain/missing-definitions.ts';
import {
  type Delta,
  deltasOf,
  type IndexedDelta,
  partsOf,
  type StreamedAttempt,
  type StreamedOutput,
  streamedOutputIn,
  type StreamEntry,
} from '../core/domain/stream.ts';
import { type OptionTable, requireKnown, wholeNumber } from '../define/option-checks.ts';
import type { PublishingActivity, ReadStreamOptions, StreamChannel, StreamRead, StreamSink, StreamSinkContext } from './stream-sink.ts';
import { pause, unlessAborted } from './waits.ts';

/** The pace of `heartbeatStreams()`. */
export interface HeartbeatStreamsOptions {
  /** The shortest time between heartbeats of a call, and between polls of a reader while a call is live, in milliseconds. Default 500. */
  everyMs?: number;
  /** The longest time between polls of a reader while no call is live, in milliseconds. Default 10,000. */
  idleEveryMs?: number;
}

const OPTIONS: OptionTable<HeartbeatStreamsOptions> = { everyMs: true, idleEveryMs: true };
const LEAST_MS = 50;

/**
 * Carries the output of runs in the heartbeats of their calls, through the Temporal server, without further infrastructure. Only runs
 * started with `live: true` are streamed, because every heartbeat and every poll is a call to the server. Throws a UsageError for
 * a pace that is not a whole number.
 */
export function heartbeatStreams(options: HeartbeatStreamsOptions = {}): StreamSink {
  requireKnown('heartbeatStreams', options, OPTIONS);
  const everyMs = wholeNumber('heartbeatStreams: "everyMs"', options.everyMs ?? 500, LEAST_MS);
  const idleMs = wholeNumber('heartbeatStreams: "idleEveryMs"', options.idleEveryMs ?? 10_000, LEAST_MS);
  return { name: 'heartbeats', heartbeatEveryMs: everyMs, open: (context) => new HeartbeatChannel(everyMs, idleMs, context) };
}

/** The heartbeat channel of a worker or a client. */
class HeartbeatChannel implements StreamChannel {
  readonly announces = false;
  readonly #everyMs: number;
  readonly #idleMs: number;
  readonly #context: StreamSinkContext;
  readonly #closed = new AbortController();
  readonly #heartbeats: AttemptHeartbeats;

  constructor(everyMs: number, idleMs: number, context: StreamSinkContext) {
    this.#everyMs = everyMs;
    this.#idleMs = idleMs;
    this.#context = context;
    this.#heartbeats = new AttemptHeartbeats(everyMs);
  }

  publish(runId: string, entry: StreamEntry, activity?: PublishingActivity): void {
    if (this.#closed.signal.aborted || entry.type === 'recorded' || activity?.live !== true) return;
    try {
      this.#heartbeats.publish(runId, entry, activity);
    } catch {
      // An entry that is not JSON is not worth a failed call.
    }
  }

  read(runId: string, { after, signal: given }: ReadStreamOptions): AsyncIterable<StreamRead> {
    const { client, dataConverter: converter, namespace } = this.#context;
    if (client === undefined) throw new UsageError('heartbeatStreams: a worker cannot read: read with a client that has this sink');
    const signal = AbortSignal.any([given, this.#closed.signal]);
    return readHeartbeats({ client, converter, namespace, runId, everyMs: this.#everyMs, idleMs: this.#idleMs, after, signal });
  }

  /** Heartbeats are part of the pending activities of a run: the server removes them with its execution. */
  removeRun(): Promise<void> {
    return Promise.resolve();
  }

  async health(): Promise<void> {
    if (this.#closed.signal.aborted) throw new Error('The sink "heartbeats" is closed');
    await this.#context.client?.workflowService.getSystemInfo({});
  }

  close(): Promise<void> {
    this.#closed.abort();
    this.#heartbeats.close();
    return Promise.resolve();
  }
}

/** The most calls whose output is kept. */
const MOST_CALLS = 5_000;
/** The time without output after which a call counts as ended and its output is forgotten. */
const FORGET_MS = 120_000;

/** The newest attempt of a call. */
interface LiveCall {
  runId: string;
  of: StreamedAttempt;
  output: RecentOutput;
  activity: PublishingActivity;
  sentAt: number;
  usedAt: number;
  timer: NodeJS.Timeout | undefined;
}

/** Sends the recent output of live calls with their heartbeats, each at a bounded pace. */
class AttemptHeartbeats {
  readonly #everyMs: number;
  /** The calls, most recently used last. */
  readonly #calls = new Map<string, LiveCall>();

  constructor(everyMs: number) {
    this.#everyMs = everyMs;
  }

  publish(runId: string, entry: Exclude<StreamEntry, { type: 'recorded' }>, activity: PublishingActivity): void {
    if (entry.type === 'attempt') this.#forgetReplaced(runId, entry.of);
    const call = this.#callOf(runId, entry, activity);
    if (entry.type === 'delta') call.output.add(entry.index, entry.delta);
    call.activity = activity;
    call.usedAt = performance.now();
    call.timer ??= setTimeout(() => send(call), Math.max(0, call.sentAt + this.#everyMs - call.usedAt)).unref();
  }

  /** Sends what waits, and forgets all calls. */
  close(): void {
    for (const call of this.#calls.values()) if (call.timer !== undefined) send(call);
    this.#calls.clear();
  }

  #callOf(runId: string, { of }: Exclude<StreamEntry, { type: 'recorded' }>, activity: PublishingActivity): LiveCall {
    const key = JSON.stringify([runId, of.executionId, of.eventId, of.callId]);
    const known = this.#calls.get(key);
    this.#calls.delete(key);
    if (known !== undefined && known.of.attempt !== of.attempt) clearTimeout(known.timer);
    const call =
      known?.of.attempt === of.attempt
        ? known
        : { runId, of, output: new RecentOutput(of), activity, sentAt: known?.sentAt ?? -Infinity, usedAt: 0, timer: undefined };
    this.#calls.set(key, call);
    this.#forgetEnded();
    return call;
  }

  /** Forgets the output of another model in the same attempt: its heartbeat would follow the current model's. */
  #forgetReplaced(runId: string, { executionId, eventId, callId, activity }: StreamedAttempt): void {
    for (const [key, call] of this.#calls) {
      const { of } = call;
      if (call.runId !== runId || of.executionId !== executionId || of.activity !== activity) continue;
      if (of.callId !== callId || of.eventId === eventId) continue;
      clearTimeout(call.timer);
      this.#calls.delete(key);
    }
  }

  #forgetEnded(): void {
    const before = performance.now() - FORGET_MS;
    for (const [key, call] of this.#calls) {
      if (this.#calls.size <= MOST_CALLS && (call.usedAt >= before || call.usedAt === 0)) return;
      clearTimeout(call.timer);
      this.#calls.delete(key);
    }
  }
}

function send(call: LiveCall): void {
  clearTimeout(call.timer);
  call.timer = undefined;
  call.sentAt = performance.now();
  try {
    call.activity.heartbeat(call.output.output);
  } catch {
    // The attempt may have ended meanwhile: its result holds everything.
  }
}

/** The most bytes of JSON of the deltas in one heartbeat. A tool's details, sent along with them, have a separate budget. */
const MOST_BYTES = 32_000;
/** Approximate JSON overhead in bytes: of a text besides its characters, and of a tool's delta besides its data. */
const TEXT_OVERHEAD_BYTES = 4;
const ENTRY_OVERHEAD_BYTES = 100;

/** The newest deltas of one attempt. */
class RecentOutput {
  readonly #of: StreamedAttempt;
  #deltas: (IndexedDelta & { bytes: number })[] = [];
  #bytes = 0;
  #next = 0;

  constructor(of: StreamedAttempt) {
    this.#of = { ...of };
  }

  /** Adds a delta, and forgets the oldest ones beyond the bound: all, if the delta alone exceeds it. Throws for one that is not JSON. */
  add(index: number, delta: Delta): void {
    if (index < this.#next) return;
    // The caller may still modify the object.
    const copy = structuredClone(delta);
    const bytes = delta.type === 'data' ? jsonBytes(delta) + ENTRY_OVERHEAD_BYTES : jsonBytes(delta.text) + this.#besideText(delta);
    this.#next = index + 1;
    this.#deltas.push({ index, delta: copy, bytes });
    this.#bytes += bytes;
    while (this.#bytes > MOST_BYTES) this.#bytes -= this.#deltas.shift()?.bytes ?? this.#bytes;
  }

  get output(): StreamedOutput {
    return { of: this.#of, next: this.#next, parts: partsOf(this.#deltas) };
  }

  /** Returns the overhead of a text: that of a new part, unless it continues the last one. */
  #besideText(delta: Exclude<Delta, { type: 'data' }>): number {
    if (this.#deltas.at(-1)?.delta.type === delta.type && delta.type !== 'tool_input') return TEXT_OVERHEAD_BYTES;
    return ENTRY_OVERHEAD_BYTES + (delta.type === 'tool_input' ? jsonBytes([delta.callId, delta.toolName]) : 0);
  }
}

/** The circumstances of one reader. */
interface HeartbeatReader extends ReadCallsRequest {
  everyMs: number;
  idleMs: number;
  after: string | undefined;
  signal: AbortSignal;
}

/** Yields the output of a run's live calls that their heartbeats contain. */
async function* readHeartbeats({ everyMs, idleMs, after, signal, ...request }: HeartbeatReader): AsyncGenerator<StreamRead> {
  const resumed = after === undefined ? undefined : readPosition(after);
  const pace = new PollPace(everyMs, idleMs);
  const place = new ReadersPlace(request.runId, resumed ?? new Map());
  let isChecked = resumed === undefined;
  if (after !== undefined && resumed === undefined && !signal.aborted) yield { type: 'lost' };
  while (!signal.aborted) {
    const calls = await unlessAborted<CallsInFlight | undefined>(
      readCalls(request).catch(() => undefined),
      signal,
    );
    if (calls !== undefined) {
      const hasEnded = place.forgetEnded(calls.outputs);
      // Between two polls, a reader misses the end of an attempt, which its event follows at once. A longer gap is reported as `lost`.
      if (hasEnded && !isChecked) yield { type: 'lost', position: place.position };
      isChecked = true;
      for (const output of calls.outputs) {
        for (const read of place.read(output)) {
          if (signal.aborted) return;
          yield read;
        }
      }
    }
    await pause(pace.next(calls), signal);
  }
}

/** Polls at the full pace for an activity without output: the first heartbeat of a live call needs some time. */
const HOPEFUL_POLLS = 4;

/** The pace at which a reader polls the server: full while a call is live, and decreasing otherwise. */
class PollPace {
  readonly #everyMs: number;
  readonly #idleMs: number;
  #polls = new Map<string, number>();
  #waitMs: number;

  constructor(everyMs: number, idleMs: number) {
    this.#everyMs = everyMs;
    this.#idleMs = Math.max(everyMs, idleMs);
    // The first pause is a short one.
    this.#waitMs = everyMs / 2;
  }

  /** Returns the time until the next poll. `calls`: the last answer, or undefined. */
  next(calls: CallsInFlight | undefined): number {
    const isLive = calls !== undefined && (calls.outputs.length > 0 || this.#mayBeLive(calls.others));
    this.#waitMs = isLive ? this.#everyMs : Math.min(this.#waitMs * 2, this.#idleMs);
    return this.#waitMs;
  }

  #mayBeLive(others: readonly string[]): boolean {
    this.#polls = new Map(others.map((id) => [id, (this.#polls.get(id) ?? 0) + 1]));
    return [...this.#polls.values()].some((polls) => polls <= HOPEFUL_POLLS);
  }
}

/** The activities of a run in flight, as the server knows them. */
interface CallsInFlight {
  /** The recent output of each live call. */
  outputs: StreamedOutput[];
  /** An id for the attempt of each other activity. */
  others: string[];
}

interface ReadCallsRequest {
  client: Client;
  converter: LoadedDataConverter;
  namespace: string;
  runId: string;
}

/** Requests the activities of a run in one call, without decoding memo and search attributes, which may be unreadable. */
async function readCalls({ client, converter, namespace, runId }: ReadCallsRequest): Promise<CallsInFlight> {
  const { pendingActivities } = await client.workflowService.describeWorkflowExecution({ namespace, execution: { workflowId: runId } });
  const calls = await Promise.all(
    (pendingActivities ?? []).map(async ({ activityId, attempt, heartbeatDetails }) => {
      // Ignores details that are encrypted with another key, or set by a user's tool.
      const [details] = await decodeArrayFromPayloads(converter, heartbeatDetails?.payloads).catch(() => []);
      return { id: `${activityId}/${attempt}`, output: streamedOutputIn(withoutUncountedAttempts(details)) };
    }),
  );
  return {
    outputs: calls.flatMap(({ output }) => output ?? []),
    others: calls.flatMap(({ id, output }) => (output === undefined ? [id] : [])),
  };
}

/** The most attempts that are remembered after they are no longer in flight. */
const MOST_ENDED = 100;

/** The place of a reader in the output of all calls of a run. */
class ReadersPlace {
  readonly #runId: string;
  readonly #seen: SeenAttempts;
  /** Ended attempts. One may come back: a heartbeat without output may follow one with output. */
  readonly #ended: SeenAttempts = new Map();

  constructor(runId: string, seen: SeenAttempts) {
    this.#runId = runId;
    this.#seen = seen;
  }

  get position(): string {
    return PREFIX + [...this.#seen].map(([key, next]) => `${key}.${next}`).join(',');
  }

  /** Forgets the attempts that are no longer in flight. Returns true if there are any. */
  forgetEnded(outputs: readonly StreamedOutput[]): boolean {
    const inFlight = new Set(outputs.map(({ of }) => attemptKey(this.#runId, of)));
    const ended = [...this.#seen].filter(([key]) => !inFlight.has(key));
    for (const [key, next] of ended) {
      this.#seen.delete(key);
      this.#ended.set(key, next);
    }
    for (const key of this.#ended.keys()) {
      if (this.#ended.size <= MOST_ENDED) break;
      this.#ended.delete(key);
    }
    return ended.length > 0;
  }

  /** Yields the part of an output that the reader has not seen. */
  *read(output: StreamedOutput): Generator<StreamRead> {
    const { of } = output;
    const key = attemptKey(this.#runId, of);
    const at = (index: number): string => {
      this.#seen.set(key, index);
      return this.position;
    };
    let next = this.#seen.get(key) ?? this.#ended.get(key);
    if (next === undefined) {
      next = 0;
      yield { type: 'entry', position: at(0), entry: { type: 'attempt', of } };
    }
    at(next);
    for (const { index, delta } of deltasOf(output)) {
      if (index < next) continue;
      if (index > next) yield { type: 'lost', position: at(index) };
      next = index + 1;
      yield { type: 'entry', position: at(next), entry: { type: 'delta', of, index, delta } };
    }
    if (output.next > next) yield { type: 'lost', position: at(output.next) };
  }
}

/** The attempts that a reader has seen in flight, each with the index of the next delta. */
type SeenAttempts = Map<string, number>;

const PREFIX = 'h1:';
const ATTEMPT = /^([\w-]{16})\.(0|[1-9]\d{0,14})$/;

/** Returns the key of an attempt of a run. It is short, because a position names every attempt in flight. */
function attemptKey(runId: string, { executionId, eventId, callId, attempt }: StreamedAttempt): string {
  const text = JSON.stringify([runId, executionId, eventId, callId ?? null, attempt]);
  return createHash('sha256').update(text).digest('base64url').slice(0, 16);
}

/** Parses a position; undefined for another sink's position. */
function readPosition(position: string): SeenAttempts | undefined {
  if (!position.startsWith(PREFIX)) return undefined;
  const seen: SeenAttempts = new Map();
  for (const part of position.slice(PREFIX.length).split(',')) {
    if (part === '') continue;
    const [, key, next] = ATTEMPT.exec(part) ?? [];
    if (key === undefined) return undefined;
    seen.set(key, Number(next));
  }
  return seen;
}
