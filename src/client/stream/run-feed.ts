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
  /** Yields what the sink carries. Absent: readers see only the record. */
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

/** The pause before a repeated query if the answer lacks what was announced. */
const NOT_YET_MS = 30;

/** The longest time until the feed notices that its sink no longer announces. Costs no request. */
const MOST_WAIT_MS = 2_000;

/** Queries for an announced record that never arrives: the worker that announced it was killed. */
const MOST_QUESTIONS = 6;

/** How soon a run closes after its end was announced, unless the worker was killed or a message arrived in between. */
const CLOSING_MS = 200;

/**
 * The rate of queries to a busy run: answering every announcement of quick steps would take a part of the worker's time. The first
 * ones are sent at once, so people who watch a model write do not notice the limit.
 */
const PACE = { atOnce: 4, everyMs: 500 };

/** The most recorded events before the feed's beginning that are read to know which live output they have replaced. */
const LOOKED_BACK = 200;

/** Bounds of the items that readers share. Readers are woken at the same time, so they take them at once. */
const SHARED_ITEMS = { max: 4, ttl: 500, ttlAutopurge: true };

/** Items of a stream, and the position of a reader after them: its index in the log, and its place. */
interface SharedItems {
  items: readonly StreamItem[];
  position: number;
  place: StreamPlace;
}

/** Reads one run for all its readers in this process: the sink once, and the record when there is something new. */
export class RunFeed {
  readonly log = new FeedLog();
  readonly replaced = new ReplacedOutput();
  /** The items that readers have just made from the log, by place: readers at the same place take the same items. */
  readonly shared = new LRUCache<string, SharedItems>(SHARED_ITEMS);
  readonly #sources: FeedSources;
  readonly #execution: FollowedExecution;
  /** The time of the last check of the server. */
  #lookedAt = 0;
  /** The time of the last query to the run. */
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
  /** The time at which to check if the run has closed. Set when a worker has announced the end: the run closes soon. */
  #endsAt: number | undefined;
  #isOver = false;
  /** The number of queries that have not brought the announced records. */
  #questions = 0;
  /** The time at which to query the run for the announced records. */
  #askAt: number | undefined;
  readonly #pace = new QuestionPace(PACE);
  /** Live output after events that the log does not have yet, held until the run may be queried for them. */
  #held: LiveEntry[] = [];
  #started: Promise<void> | undefined;

  constructor(sources: FeedSources) {
    this.#sources = sources;
    this.#execution = new FollowedExecution(sources);
  }

  get pages(): FeedSources['pages'] {
    return this.#sources.pages;
  }

  /** Begins to read. Resolves with the place in the record at which the log begins. Rejects with `run_not_found` and `not_a_run`. */
  async start(): Promise<RecordPlace> {
    this.#started ??= this.#start().catch((error: unknown) => {
      this.stop();
      throw error;
    });
    await this.#started;
    return this.#began;
  }

  /** The place in the record at which the log begins. */
  get began(): RecordPlace {
    return this.#began;
  }

  /** Offset of the first event that the log does not have yet. */
  get offset(): number {
    return this.#place.offset;
  }

  /** True once the log is complete. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /** The status of the run, as far as it is known. */
  get status(): RunStatus | undefined {
    return this.#status;
  }

  /** The id of the execution that is read. */
  get executionId(): string {
    return this.#execution.id ?? '';
  }

  /** True if the run has ended with the execution with this tag. Needs no worker. Rejects with `run_not_found` and `not_a_run`. */
  async hasEndedWith(execution: string): Promise<boolean> {
    const { executionId, closed } = await this.#sources.newest();
    return closed && tagOf(executionId) === execution;
  }

  executions(): Promise<KnownExecutions> {
    return this.#sources.executions();
  }

  /** Stops reading. `error`: the reason for readers that still wait. */
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
      // Constant output must not keep the feed from reading the record.
      if (performance.now() >= (this.#askAt ?? Infinity)) await this.#catchUp();
      else if (performance.now() >= this.#lookAt && (await this.#look())) return this.#finish();
    }
  }

  /** The time of the next check of the server. */
  get #lookAt(): number {
    const isAnnounced = this.#sources.announced() && this.#endsAt === undefined;
    const isLate = this.#announced > this.#place.offset && this.#askAt === undefined;
    const pauseMs = isLate ? NOT_YET_MS * 2 ** this.#questions : this.#sources.news.pauseMs(isAnnounced);
    // If the answer lacked what was announced, the query came too early.
    return Math.max(Math.max(this.#lookedAt, isLate ? this.#askedAt : 0) + pauseMs, this.#endsAt ?? 0);
  }

  /** Checks the server. True if the run has ended. */
  async #look(): Promise<boolean> {
    const { executionId, closed, isNew } = await this.#sources.news.look();
    this.#lookedAt = performance.now();
    await this.#execution.continueWith(executionId);
    if (closed) return true;
    // The record of a run that is about to close is read from its history: to answer afterwards, a worker would replay the run.
    const isClosing = this.#endsAt !== undefined && this.#lookedAt < this.#endsAt + CLOSING_MS;
    if (!isClosing && (isNew || this.#announced > this.#place.offset)) await this.#catchUp();
    this.#questions = this.#announced > this.#place.offset ? this.#questions + 1 : 0;
    // Gives up on the announced events: continues from the record as it is.
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
    // The announcement is older than the feed, or a query has already returned its records.
    if (events < this.#place.offset || steps < this.#place.step) return;
    // The sink may still hold the end of a run that was sent back.
    if (!(await this.#execution.isNewest(executionId))) return;
    this.#announced = Math.max(this.#announced, events);
    this.#endsAt = isTerminal(status) ? performance.now() + this.#sources.news.gatherMs : undefined;
    if (this.#endsAt !== undefined) {
      this.#askAt = undefined;
      return;
    }
    // The sink may hold older statuses: the current one comes from the run itself.
    if (events > this.#place.offset || steps > this.#place.step || status !== this.#status) {
      this.#askAt ??= Math.max(performance.now() + this.#sources.news.gatherMs, this.#pace.nextAt);
    }
  }

  /** Adds live output to the log, after the events that came before it. */
  async #takeOutput(entry: LiveEntry): Promise<void> {
    if (!(await this.#execution.isNewest(entry.of.executionId))) return;
    const isBehind = this.#held.length > 0 || this.#throughOf(entry) > this.#place.offset;
    if (!isBehind) return this.#putOutput(entry);
    this.#held.push(entry);
    const { nextAt } = this.#pace;
    if (nextAt <= performance.now()) await this.#catchUp();
    else this.#askAt = Math.min(this.#askAt ?? Infinity, nextAt);
  }

  /** Returns the number of events before the output. */
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

  /** Finds which live output the record had replaced before the feed began, as far as the server has the events. */
  async #lookBack(offset: number): Promise<void> {
    if (this.#knownFrom - offset > LOOKED_BACK) return;
    const isKnown = await this.replaced.read(this.pages, { offset, step: this.#began.step }, this.#knownFrom);
    if (isKnown) this.#knownFrom = offset;
  }

  /** Reads the records that the log lacks. */
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
    // A run that an operator has ended also recorded something before.
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

/** Live output of a call. */
type LiveEntry = StreamEntry & { type: 'attempt' | 'delta' };

/** The executions of a run that the server has. */
interface KnownExecutions {
  ids: readonly string[];
  /** True if they include the first one of the run: the server removes the oldest first. */
  isComplete: boolean;
}

/** Thrown inside a feed whose run was sent back to an earlier step: its readers start over from their places. */
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

  /** Continues with the newest execution. Throws `SentBack` if it does not continue the current one: `retry` has then replaced that one. */
  async continueWith(newest: string): Promise<void> {
    if (newest === this.#id) return;
    const before = this.#id;
    const { ids } = await this.#sources.executions();
    if (before !== undefined && !ids.includes(before)) throw new SentBack('The run was sent back');
    if (before !== undefined) this.#left.add(before);
    this.#id = newest;
  }

  /** True for the newest execution. Output of older ones is over: no call spans two executions. Throws as `continueWith`. */
  async isNewest(id: string): Promise<boolean> {
    if (id !== this.#id && !this.#left.has(id)) {
      const { executionId } = await this.#sources.newest();
      await this.continueWith(executionId);
      if (id !== this.#id) this.#left.add(id);
    }
    return id === this.#id;
  }
}

/** The pauses between two checks of the server, in milliseconds: short while there is news, longer otherwise. */
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** The pause while workers announce what they record: a check then only finds lost announcements. */
const ANNOUNCED_PAUSE_MS = 30_000;

/** The pause between an announcement and the query: it fetches the result of a quick tool together with its call. */
const GATHER_MS = 15;

/** The state of a run on the server. */
interface RunNews {
  executionId: string;
  closed: boolean;
  /** True if the history has grown since the last check. */
  isNew: boolean;
}

/** Checks the server for news of a run, without involving a worker. */
class NewsOfRun {
  /** Milliseconds from an announcement to the query. */
  readonly gatherMs: number = GATHER_MS;
  readonly #client: Client;
  readonly #runId: string;
  #seen = '';
  #pauseMs = SHORTEST_PAUSE_MS;

  constructor(client: Client, runId: string) {
    this.#client = client;
    this.#runId = runId;
  }

  /** Returns the milliseconds until the next check. `announced`: workers announce what they record. */
  pauseMs(announced: boolean): number {
    return announced ? ANNOUNCED_PAUSE_MS : this.#pauseMs;
  }

  /** Checks now. Throws `run_not_found`, and an error if the server does not answer. */
  async look(): Promise<RunNews> {
    const { historyLength, runId, status } = await describeRun(this.#client, this.#runId);
    const seen = `${runId}/${historyLength}`;
    const isNew = seen !== this.#seen;
    this.#seen = seen;
    this.#pauseMs = isNew ? SHORTEST_PAUSE_MS : Math.min(this.#pauseMs * 1.5, LONGEST_PAUSE_MS);
    return { executionId: runId, closed: hasEndedAs(status.name), isNew };
  }
}
