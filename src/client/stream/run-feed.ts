import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import type { RunResultFields } from '../../core/domain/result.ts';
import { isTerminal, type RunStatus } from '../../core/domain/run.ts';
import type { StreamEntry } from '../../core/domain/stream.ts';
import { NextValue } from '../../streams/waits.ts';
import type { StreamChannel, StreamRead } from '../../streams/stream-sink.ts';
import { describeRun, hasEndedAs } from '../../temporal/run-workflow.ts';
import { AwaitedResult, RunReader } from '../reader.ts';
import { type StreamItem, type StreamPlace, tagOf } from './stream-item.ts';
import { QuestionPace } from './question-pace.ts';
import { FeedLog, recordEntries, RecordPages, type RecordPlace, ReplacedOutput } from './record-pages.ts';

export interface FeedSources {
  pages: Pick<RecordPages, 'read' | 'shared' | 'end' | 'ended'>;
  news: Pick<NewsOfRun, 'look' | 'pauseMs' | 'gatherMs'>;
  /** Returns the newest execution. Rejects with `run_not_found` and `not_a_run`. */
  newest(): Promise<{ executionId: string; closed: boolean }>;
  executions(): Promise<KnownExecutions>;
  /** Waits until the run has closed and returns its whole result. */
  result(signal: AbortSignal): Promise<RunResultFields>;
  /** True while workers announce what they record. */
  announced(): boolean;
  /** Yields what the sink carries. Absent: readers see the record alone. */
  live?(signal: AbortSignal): AsyncIterable<StreamRead>;
}

/** Returns the sources of a feed on Temporal. */
export function feedSources(client: Client, runId: string, channel: StreamChannel | undefined): FeedSources {
  const reader = new RunReader(client, runId);
  const { chain } = reader;
  const awaited = new AwaitedResult(client, runId, reader, true);
  return {
    pages: new RecordPages(client, runId, chain),
    news: new NewsOfRun(client, runId),
    newest: () => chain.newest(),
    executions: async () => {
      const all = await chain.executions();
      return { ids: all.map(({ executionId }) => executionId), isComplete: all[0]?.continuedFrom === undefined };
    },
    result: async (signal) => (await awaited.read({ signal })).fields,
    announced: () => channel?.announces ?? false,
    ...(channel === undefined ? {} : { live: (signal) => channel.read(runId, { signal }) }),
  };
}

/** The pause before a run is asked again whose answer lacks what was announced. */
const NOT_YET_MS = 30;

/** The longest time until the feed sees that its sink does not announce any more. That costs no request. */
const MOST_WAIT_MS = 2_000;

/** The number of questions for something announced that the record does not come to have: the worker that announced it was killed. */
const MOST_QUESTIONS = 6;

/** The time in which a run closes whose end was announced, unless the worker was killed or a message came in between. */
const CLOSING_MS = 200;

/**
 * The questions to a run that moves on and on: a worker that answered each announcement of quick steps would spend a part of their time on
 * its readers. The first ones are asked at once, so that this is not felt where people watch a model write.
 */
const PACE = { atOnce: 4, everyMs: 500 };

/** The most recorded events before the beginning of the feed that are read, to know which live output they have replaced. */
const LOOKED_BACK = 200;

/** Readers are woken at the same time, so that what they share is taken at once. */
const SHARED_ITEMS = { max: 4, ttl: 500, ttlAutopurge: true };

/** Items of a stream, and where a reader is that has taken them: its index in the log, and its place. */
interface SharedItems {
  items: readonly StreamItem[];
  position: number;
  place: StreamPlace;
}

/** Reads one run for all its readers in this process: its sink once, and its record when there is something new. */
export class RunFeed {
  readonly log = new FeedLog();
  readonly replaced = new ReplacedOutput();
  /** What readers have made of the log a moment ago, by the place at which they were: those at the same place take the same. */
  readonly shared = new LRUCache<string, SharedItems>(SHARED_ITEMS);
  readonly #sources: FeedSources;
  readonly #execution: FollowedExecution;
  /** The time of the last look at the server. */
  #lookedAt = 0;
  /** The time of the last question to the run. */
  #askedAt = 0;
  readonly #stopped = new AbortController();
  /** The end of the record as far as the log holds it. */
  #place: RecordPlace = { offset: 0, step: 0 };
  #began: RecordPlace = { offset: 0, step: 0 };
  /** Offset from which on events are known to have replaced live output. */
  #knownFrom = 0;
  #status: RunStatus | undefined;
  /** The number of events that a worker has announced. */
  #announced = 0;
  /** The time from which on the server is asked if the run has ended. Absent unless a worker has announced the end: the run closes soon. */
  #endsAt: number | undefined;
  #isOver = false;
  /** The number of questions for what was announced since the record came to have it. */
  #questions = 0;
  /** The time at which the run is asked for what was announced. */
  #askAt: number | undefined;
  readonly #pace = new QuestionPace(PACE);
  /** Live output behind events that the log does not have yet, until the run may be asked for them. */
  #held: LiveEntry[] = [];
  #started: Promise<void> | undefined;

  constructor(sources: FeedSources) {
    this.#sources = sources;
    this.#execution = new FollowedExecution(sources);
  }

  get pages(): FeedSources['pages'] {
    return this.#sources.pages;
  }

  /** Begins to read, and resolves with the place of the record at which the log begins. Rejects with `run_not_found` and `not_a_run`. */
  async start(): Promise<RecordPlace> {
    this.#started ??= this.#start().catch((error: unknown) => {
      this.stop();
      throw error;
    });
    await this.#started;
    return this.#began;
  }

  /** The place of the record at which the log begins. */
  get began(): RecordPlace {
    return this.#began;
  }

  /** Offset of the next event that the log does not have yet. */
  get offset(): number {
    return this.#place.offset;
  }

  /** True once the log has its last entry. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The status of the run, as far as it is known. */
  get status(): RunStatus | undefined {
    return this.#status;
  }

  /** The execution that is read. */
  get executionId(): string {
    return this.#execution.id ?? '';
  }

  /** True if the run has ended with that execution, given by its tag. That takes no worker. Rejects with `run_not_found` and `not_a_run`. */
  async hasEndedWith(execution: string): Promise<boolean> {
    const { executionId, closed } = await this.#sources.newest();
    return closed && tagOf(executionId) === execution;
  }

  executions(): Promise<KnownExecutions> {
    return this.#sources.executions();
  }

  /** Ends the reading. `error`: the reason for readers that still wait. */
  stop(error?: Error): void {
    if (error !== undefined && !this.#isOver) this.log.push({ type: 'failed', error });
    this.#isOver = true;
    this.#stopped.abort();
  }

  async #start(): Promise<void> {
    const [execution] = await Promise.all([this.#sources.newest(), this.#sources.news.look()]);
    if (execution.closed) this.pages.ended();
    const { offset, step, status = 'running' } = await this.pages.end();
    this.#execution.begin(execution.executionId);
    this.#lookedAt = performance.now();
    this.#began = { offset, step };
    this.#place = { offset, step };
    this.#knownFrom = offset;
    if (!execution.closed) this.#show(status);
    void this.#follow(execution.closed).catch((error: unknown) => {
      if (this.#stopped.signal.aborted) return;
      this.log.push(error instanceof SentBack ? { type: 'sent_back' } : { type: 'failed', error });
      this.stop();
    });
  }

  async #follow(closed: boolean): Promise<void> {
    const { signal } = this.#stopped;
    if (closed) return this.#finish();
    let reads = new NextValue(this.#sources.live?.(signal)[Symbol.asyncIterator]());
    while (!signal.aborted) {
      const dueMs = Math.min(this.#askAt ?? Infinity, this.#lookAt) - performance.now();
      const read = await reads.within(Math.max(0, Math.min(dueMs, MOST_WAIT_MS)), signal);
      if (read?.done) reads = new NextValue();
      else if (read !== undefined) await this.#take(read.value);
      if (signal.aborted) return;
      // Output that comes all the time must not keep the feed from looking.
      if (performance.now() >= (this.#askAt ?? Infinity)) await this.#catchUp();
      else if (performance.now() >= this.#lookAt && (await this.#look())) return this.#finish();
    }
  }

  /** The time of the next look at the server. */
  get #lookAt(): number {
    const isAnnounced = this.#sources.announced() && this.#endsAt === undefined;
    const isLate = this.#announced > this.#place.offset && this.#askAt === undefined;
    const pauseMs = isLate ? NOT_YET_MS * 2 ** this.#questions : this.#sources.news.pauseMs(isAnnounced);
    // A question whose answer lacks what was announced came too early.
    return Math.max(Math.max(this.#lookedAt, isLate ? this.#askedAt : 0) + pauseMs, this.#endsAt ?? 0);
  }

  /** Looks at the server. True if the run has ended. */
  async #look(): Promise<boolean> {
    const { executionId, closed, isNew } = await this.#sources.news.look();
    this.#lookedAt = performance.now();
    await this.#execution.continueWith(executionId);
    if (closed) return true;
    // The record of a run that is about to close is read from its history: to answer after the end, a worker would replay the run.
    const isClosing = this.#endsAt !== undefined && this.#lookedAt < this.#endsAt + CLOSING_MS;
    if (!isClosing && (isNew || this.#announced > this.#place.offset)) await this.#catchUp();
    this.#questions = this.#announced > this.#place.offset ? this.#questions + 1 : 0;
    // The next announcement is that of the record as it is.
    if (this.#questions > MOST_QUESTIONS) this.#announced = this.#place.offset;
    return false;
  }

  async #take(read: StreamRead): Promise<void> {
    if (read.type === 'lost') {
      this.log.push({ type: 'gap', offset: this.#place.offset });
      return this.#catchUp();
    }
    return read.entry.type === 'recorded' ? this.#takeRecorded(read.entry) : this.#takeOutput(read.entry);
  }

  async #takeRecorded({ executionId, events, steps, status }: StreamEntry & { type: 'recorded' }): Promise<void> {
    // An announcement of the time before the feed began, or of what a query has answered already.
    if (events < this.#place.offset || steps < this.#place.step) return;
    // The sink may still hold the end of a run that was sent back.
    if (!(await this.#execution.isNewest(executionId))) return;
    this.#announced = Math.max(this.#announced, events);
    this.#endsAt = isTerminal(status) ? performance.now() + this.#sources.news.gatherMs : undefined;
    if (this.#endsAt !== undefined) {
      this.#askAt = undefined;
      return;
    }
    // The sink may hold older statuses: the run itself says which one it has.
    if (events > this.#place.offset || steps > this.#place.step || status !== this.#status) {
      this.#askAt ??= Math.max(performance.now() + this.#sources.news.gatherMs, this.#pace.nextAt);
    }
  }

  /** Takes live output: it comes into the log behind the events that came before it. */
  async #takeOutput(entry: LiveEntry): Promise<void> {
    if (!(await this.#execution.isNewest(entry.of.executionId))) return;
    const isBehind = this.#held.length > 0 || this.#throughOf(entry) > this.#place.offset;
    if (!isBehind) return this.#putOutput(entry);
    this.#held.push(entry);
    const { nextAt } = this.#pace;
    if (nextAt <= performance.now()) await this.#catchUp();
    else this.#askAt = Math.min(this.#askAt ?? Infinity, nextAt);
  }

  /** The number of events that came before the output. */
  #throughOf({ of: { through = Math.max(0, this.#began.offset - LOOKED_BACK) } }: LiveEntry): number {
    return through;
  }

  async #putOutput(entry: LiveEntry): Promise<void> {
    const { of } = entry;
    const through = this.#throughOf(entry);
    if (through < this.#knownFrom) await this.#lookBack(through);
    if (through < this.#knownFrom || !this.replaced.isLive(of)) return;
    this.log.push({ ...entry, step: this.#place.step + 1 });
  }

  /** Learns which live output the record had replaced before the feed began, as far as the server has the events. */
  async #lookBack(offset: number): Promise<void> {
    if (this.#knownFrom - offset > LOOKED_BACK) return;
    const isKnown = await this.replaced.read(this.pages, { offset, step: this.#began.step }, this.#knownFrom);
    if (isKnown) this.#knownFrom = offset;
  }

  /** Reads what the record has beyond the log. */
  async #catchUp(): Promise<void> {
    this.#askAt = undefined;
    this.#askedAt = performance.now();
    this.#pace.asked(this.#askedAt);
    await this.#readOn();
    const held = this.#held;
    this.#held = [];
    for (const entry of held) if (await this.#execution.isNewest(entry.of.executionId)) await this.#putOutput(entry);
  }

  async #readOn(): Promise<void> {
    for (;;) {
      const stretch = await this.pages.read(this.#place);
      if (stretch.executionId !== undefined) await this.#execution.continueWith(stretch.executionId);
      const entries = recordEntries(this.#place, stretch);
      for (const entry of entries) {
        this.log.push(entry);
        if (entry.type === 'event') this.replaced.recorded(entry.offset, entry.event);
        if (entry.type === 'event') this.#place.offset = entry.offset + 1;
        else this.#place.step = entry.index + 1;
      }
      if (stretch.isLast || entries.length === 0) {
        if (stretch.status !== undefined && !isTerminal(stretch.status)) this.#show(stretch.status);
        return;
      }
    }
  }

  async #finish(): Promise<void> {
    this.pages.ended();
    // Also the run of which an operator makes an end has recorded something before.
    await this.#catchUp();
    const { steps: _, ...result } = await this.#sources.result(this.#stopped.signal);
    const { executionId } = await this.#sources.newest();
    await this.#execution.continueWith(executionId);
    this.#show(result.status);
    this.log.push({ type: 'end', executionId, result });
    this.stop();
  }

  #show(status: RunStatus): void {
    if (status === this.#status) return;
    this.#status = status;
    this.log.push({ type: 'status', status, offset: this.#place.offset });
  }
}

/** What a call puts out while it runs. */
type LiveEntry = StreamEntry & { type: 'attempt' | 'delta' };

/** The executions of a run that the server has. */
interface KnownExecutions {
  ids: readonly string[];
  /** True if the first one of the run is among them: the server removes the oldest ones first. */
  isComplete: boolean;
}

/** Thrown inside a feed whose run has been sent back to an earlier step: its readers begin again from their places. */
class SentBack extends Error {
  override readonly name = 'SentBack';
}

/** The sources of the executions of a run. */
interface ExecutionSources {
  newest(): Promise<{ executionId: string }>;
  executions(): Promise<KnownExecutions>;
}

/** The execution of a run that a feed reads. */
class FollowedExecution {
  readonly #sources: ExecutionSources;
  readonly #left = new Set<string>();
  #id: string | undefined;

  constructor(sources: ExecutionSources) {
    this.#sources = sources;
  }

  /** The Temporal run id of the execution. Undefined before the feed has begun. */
  get id(): string | undefined {
    return this.#id;
  }

  begin(id: string): void {
    this.#id = id;
  }

  /** Continues with the newest execution. Throws `SentBack` unless it continues the one before: `retry` has put it in its place. */
  async continueWith(newest: string): Promise<void> {
    if (newest === this.#id) return;
    const before = this.#id;
    const { ids } = await this.#sources.executions();
    if (before !== undefined && !ids.includes(before)) throw new SentBack('The run was sent back');
    if (before !== undefined) this.#left.add(before);
    this.#id = newest;
  }

  /** True for the newest execution: no call continues from one execution to the next. Throws as `continueWith`. */
  async isNewest(id: string): Promise<boolean> {
    if (id !== this.#id && !this.#left.has(id)) {
      const { executionId } = await this.#sources.newest();
      await this.continueWith(executionId);
      if (id !== this.#id) this.#left.add(id);
    }
    return id === this.#id;
  }
}

/** The pauses between two looks at the server, in milliseconds: short while there is news, long while there is none. */
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** The pause while workers announce what they record: only announcements that got lost are found by looking. */
const ANNOUNCED_PAUSE_MS = 30_000;

/** The pause between an announcement and the question for what is new: the result of a quick tool is asked for together with its call. */
const GATHER_MS = 15;

/** The state of a run as the server has it. */
interface RunNews {
  executionId: string;
  closed: boolean;
  /** True if the history has grown since the last look. */
  isNew: boolean;
}

/** Looks at the server for news of a run. That costs no worker anything. */
class NewsOfRun {
  /** Milliseconds from an announcement to the question for what is new. */
  readonly gatherMs: number = GATHER_MS;
  readonly #client: Client;
  readonly #runId: string;
  #seen = '';
  #pauseMs = SHORTEST_PAUSE_MS;

  constructor(client: Client, runId: string) {
    this.#client = client;
    this.#runId = runId;
  }

  /** Returns the milliseconds until the next look. `announced`: workers announce what they record. */
  pauseMs(announced: boolean): number {
    return announced ? ANNOUNCED_PAUSE_MS : this.#pauseMs;
  }

  /** Looks at once. Throws `run_not_found`, and if the server does not answer. */
  async look(): Promise<RunNews> {
    const { historyLength, runId, status } = await describeRun(this.#client, this.#runId);
    const seen = `${runId}/${historyLength}`;
    const isNew = seen !== this.#seen;
    this.#seen = seen;
    this.#pauseMs = isNew ? SHORTEST_PAUSE_MS : Math.min(this.#pauseMs * 1.5, LONGEST_PAUSE_MS);
    return { executionId: runId, closed: hasEndedAs(status.name), isNew };
  }
}
