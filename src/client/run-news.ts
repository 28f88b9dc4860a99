import { randomUUID } from 'node:crypto';
import type { Client, WorkflowExecutionInfo } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { jsonBytes } from '../core/domain/byte-budgets.ts';
import { LonghaulError } from '../core/domain/errors.ts';
import { defined, parsedJson } from '../core/domain/json.ts';
import { continuedFrom, startedEvent } from '../history/history-events.ts';
import type { ReadStreamOptions, StreamRead } from '../streams/stream-sink.ts';
import { Bell, BoundedLog } from '../streams/waits.ts';
import { sleep } from '../temporal/waiting.ts';
import type { FeedItem, FeedItemContent, FeedOptions, FeedRun } from './feed-item.ts';
import { type ExecutionFilter, listExecutions, runEntry, waitingCondition } from './list.ts';
import { quoted } from './visibility.ts';

/** Milliseconds between two requests to the server while somebody listens. */
const ASK_MS = 2_000;

/**
 * Milliseconds from an announcement of the sink to each request, repeated since the server's lists may lag. The last request
 * lists everything, the others only what was announced. A further announcement restarts the sequence.
 */
const SOON_MS = [150, 250, 600] as const;

/** The most executions that are requested by id. With more, everything is listed. */
const MOST_NAMED = 50;

/** Minimum milliseconds between two requests for everything, also on a service where runs begin to wait all the time. */
const LEAST_MS = 500;

/** Milliseconds by which two requests overlap: the server's lists lag, and its clock may differ. */
const OVERLAP_MS = 30_000;

/** After a longer pause without a listener, the feed does not look for what happened meanwhile, and has a gap. */
const LONGEST_PAUSE_MS = 10 * 60_000;

/** Bounds of the items that are kept for returning listeners. */
const KEPT = { entries: 1_000, bytes: 500_000 };

/** The most readers of one connection: each principal has one. */
const MOST_READERS = 200;

/** The readers of each connection. */
const readers = new WeakMap<object, LRUCache<string, RunNews>>();

/**
 * Yields what happens in the runs that a filter selects, until the signal is aborted. Everyone who listens in this process with the same
 * conditions on the principal shares one reader of the server's lists. Throws `invalid_cursor`, and the reason of the signal.
 */
export async function* runFeed(
  client: Client,
  { principalConditions = [], waits, askMs = ASK_MS }: Pick<ExecutionFilter, 'principalConditions'> & Partial<Asking>,
  { agent, waiting = false, cursor, signal = new AbortController().signal }: FeedOptions,
): AsyncGenerator<FeedItem> {
  const ofConnection = readers.get(client.connection) ?? new LRUCache<string, RunNews>({ max: MOST_READERS });
  readers.set(client.connection, ofConnection);
  const key = JSON.stringify([client.options.namespace, ...principalConditions]);
  const reader = ofConnection.get(key) ?? new RunNews(client, principalConditions, { waits, askMs });
  ofConnection.set(key, reader);
  for await (const item of reader.listen(cursor, signal)) {
    const isWanted =
      item.type === 'gap' || ((agent === undefined || item.run.agentName === agent) && (!waiting || OF_WAITS.has(item.type)));
    if (isWanted) yield item;
  }
}

/** Yields an entry whenever a run begins to wait for a decision, or for another one. A sink also yields earlier entries it has kept. */
type Announcements = (options: ReadStreamOptions) => AsyncIterable<StreamRead>;

/** When a reader asks the server: after announcements, and at an interval in milliseconds. */
interface Asking {
  waits: Announcements | undefined;
  askMs: number;
}

/** The last announcement of an execution. */
interface Heard {
  /** The number of events that it had recorded. */
  events: number;
  /** The time of the request whose answer listed the execution when it was first announced. */
  pastAt?: number;
}

/** A signal that is never aborted. */
const NEVER = new AbortController().signal;

const OF_WAITS: ReadonlySet<string> = new Set(['waiting', 'decided']);

/** Polls the server's lists for all listeners, while there are any. */
class RunNews {
  readonly #client: Client;
  readonly #principalConditions: readonly string[];
  /** Distinguishes the cursors of this reader from those of an earlier reader or another process. */
  readonly #id = randomUUID().slice(0, 8);
  readonly #log = new BoundedLog<FeedItemContent>();
  /** The waiting runs by id, and since when the last lists have lacked some of them. */
  #waiting = new Map<string, FeedRun>();
  #missing = new Map<string, number>();
  /** What was already noted, kept until requests no longer go back that far. */
  readonly #noted = new LRUCache<string, true>({ max: 20_000, ttl: 4 * OVERLAP_MS });
  #listeners = 0;
  /** The time of the last answer. */
  #answeredAt: number | undefined;
  #asking: Promise<void> | undefined;
  #first: Promise<void> | undefined;
  #failure: { cause: unknown } | undefined;
  readonly #asks: Asking;
  /** Rings when a request to the server is due. */
  readonly #due = new Bell();
  /**
   * The executions announced as waiting, until that is noted. The lists only name tools: a run that waits again for the same tool
   * would look unchanged.
   */
  readonly #announced = new LRUCache<string, true>({ max: 10_000, ttl: OVERLAP_MS });
  /** The position of the last announcement read from the sink. After a pause, reading continues there. */
  #position: string | undefined;
  /** The last announcement of each execution: a sink that has lost its place repeats earlier ones. */
  readonly #heard = new LRUCache<string, Heard>({ max: 20_000 });
  /** The waiting executions in the last answer. */
  #listed: ReadonlySet<string> = new Set();
  /** True if the sink may have lost announcements since the last request for everything: only such a request makes up for it. */
  #isLost = false;
  /** The pauses before the remaining requests after an announcement. */
  #soon: number[] = [];
  /** The time of the last request. */
  #askedAt = 0;

  constructor(client: Client, principalConditions: readonly string[], asks: Asking) {
    this.#client = client;
    this.#principalConditions = principalConditions;
    this.#asks = asks;
  }

  async *listen(cursor: string | undefined, signal: AbortSignal): AsyncGenerator<FeedItem> {
    const behind = cursor === undefined ? undefined : this.#placeOf(cursor);
    this.#listeners += 1;
    try {
      this.#failure = undefined;
      if (this.#asking === undefined) await this.#askNow();
      this.#asking ??= this.#askUntilAlone();
      let next = this.#log.next;
      if (behind !== undefined && behind >= this.#log.first && behind <= next) next = behind;
      else {
        const here = this.#cursorOf(next);
        if (cursor !== undefined) yield { type: 'gap', cursor: here };
        // The map may change between two of them.
        const waiting = [...this.#waiting.values()];
        for (const run of waiting) yield { type: 'waiting', run, cursor: here };
      }
      for (;;) {
        signal.throwIfAborted();
        const news = this.#log.bell.next(signal);
        if (next < this.#log.first) {
          next = this.#log.first;
          yield { type: 'gap', cursor: this.#cursorOf(next) };
        }
        for (let item = this.#log.at(next); item !== undefined; item = this.#log.at(next)) {
          next += 1;
          yield { ...item, cursor: this.#cursorOf(next) };
        }
        this.#throwFailure();
        if (next === this.#log.next) await news;
      }
    } finally {
      this.#listeners -= 1;
    }
  }

  #throwFailure(): void {
    if (this.#failure !== undefined) throw this.#failure.cause;
  }

  /** Makes one request for all who begin to listen together. */
  #askNow(): Promise<void> {
    this.#first ??= this.#ask(Date.now()).finally(() => (this.#first = undefined));
    return this.#first;
  }

  /** Polls the server until nobody listens. */
  async #askUntilAlone(): Promise<void> {
    const alone = new AbortController();
    void this.#hear(alone.signal);
    try {
      while (this.#listeners > 0) {
        const isForAll = await this.#untilDue();
        if (this.#listeners > 0) await (isForAll ? this.#ask(Date.now()) : this.#askAnnounced());
      }
    } catch (cause) {
      this.#failure = { cause };
      this.#log.bell.ring();
    } finally {
      this.#asking = undefined;
      alone.abort();
    }
  }

  /** Listens to the announcements of the sink. Without them, the server is polled at the usual interval. */
  async #hear(signal: AbortSignal): Promise<void> {
    try {
      for await (const read of this.#asks.waits?.({ signal, ...defined({ after: this.#position }) }) ?? []) {
        this.#position = read.position ?? this.#position;
        if (read.type !== 'entry') this.#isLost = true;
        else if (read.entry.type !== 'recorded' || !this.#isNews(read.entry)) continue;
        this.#soon = [...SOON_MS];
        this.#due.ring();
      }
    } catch {
      // The channel was closed, or a user's sink has thrown.
    }
  }

  /** Takes an announcement. False if it was heard before, or if the lists may already include it. */
  #isNews({ executionId, events }: { executionId: string; events: number }): boolean {
    const last = this.#heard.get(executionId);
    if (last !== undefined && events <= last.events) return false;
    // A sink delivers all that it keeps at once: until the next request, that is the past of a run that is already listed as waiting.
    const isPast = last === undefined ? this.#listed.has(executionId) : last.pastAt === this.#askedAt;
    this.#heard.set(executionId, { events, ...(isPast ? { pastAt: this.#askedAt } : {}) });
    if (!isPast) this.#announced.set(executionId, true);
    return !isPast;
  }

  /** Waits until the next request is due: after a time, or soon after an announcement. True for a request for everything. */
  async #untilDue(): Promise<boolean> {
    if (this.#soon.length === 0) {
      const timer = setTimeout(() => this.#due.ring(), this.#asks.askMs);
      await this.#due.next(NEVER);
      clearTimeout(timer);
    }
    const pauseMs = this.#soon.shift();
    if (pauseMs === undefined) return true;
    const isLast = this.#soon.length === 0;
    await sleep(pauseMs);
    const named = this.#stillAnnounced();
    // Frequent announcements must not delay the news of starts and ends.
    const isLate = Date.now() - this.#askedAt >= this.#asks.askMs;
    if (!isLast && !isLate && !this.#isLost && named > 0 && named <= MOST_NAMED) return false;
    await sleep(Math.max(0, this.#askedAt + LEAST_MS - Date.now()));
    return true;
  }

  /** Returns the number of announced executions. One that is not listed for this principal is forgotten after a time. */
  #stillAnnounced(): number {
    // The size includes expired entries.
    this.#announced.purgeStale();
    return this.#announced.size;
  }

  /** Requests the announced runs that wait: the cost does not depend on how many runs wait. */
  async #askAnnounced(): Promise<void> {
    const ids = [...this.#announced.keys()].map(quoted);
    const query = `RunId IN (${ids.join(', ')}) AND (${waitingCondition(true)})`;
    const since = new Date((this.#answeredAt ?? Date.now()) - OVERLAP_MS);
    for await (const info of listExecutions(this.#client, { query, principalConditions: this.#principalConditions })) {
      const run = await feedRun(this.#client, info);
      if (run.status !== 'pending_confirmation' || run.endTime !== undefined || !this.#announced.delete(info.runId)) continue;
      await this.#noteStart(info, run, since);
      this.#waiting.set(run.runId, run);
      this.#missing.delete(run.runId);
      this.#note({ type: 'waiting', run });
    }
    // Later announcements start a new sequence.
    if (this.#stillAnnounced() === 0 && !this.#isLost) this.#soon = [];
  }

  /** Records that a run has started, once. */
  async #noteStart(info: WorkflowExecutionInfo, run: FeedRun, since: Date): Promise<void> {
    if (new Date(run.startTime) < since || this.#isNoted('started', run.runId, run.startTime)) return;
    if (!(await isContinued(this.#client, info))) this.#note({ type: 'started', run });
  }

  /** Requests the waiting runs, and those that have started or ended since the last answer, in one request. */
  async #ask(now: number): Promise<void> {
    this.#askedAt = now;
    this.#isLost = false;
    const before = this.#answeredAt ?? now;
    const isLate = now - before > LONGEST_PAUSE_MS;
    const since = new Date((isLate ? now : before) - OVERLAP_MS);
    const time = `'${since.toISOString()}'`;
    const query = `StartTime >= ${time} OR CloseTime >= ${time} OR (${waitingCondition(true)})`;
    const filter = { query, principalConditions: this.#principalConditions };
    const waiting = new Map<string, FeedRun>();
    const again = new Set<string>();
    const listed = new Set<string>();
    if (isLate) this.#note({ type: 'gap' });
    const isFirst = this.#answeredAt === undefined || isLate;
    const ended: FeedRun[] = [];
    for await (const info of listExecutions(this.#client, filter)) {
      const run = await feedRun(this.#client, info);
      if (run.endTime !== undefined) ended.push(run);
      else if (run.status === 'pending_confirmation') {
        waiting.set(run.runId, run);
        listed.add(info.runId);
        if (this.#announced.delete(info.runId)) again.add(run.runId);
      }
      // A run that started before anybody listened is not news.
      if (!isFirst) await this.#noteStart(info, run, since);
      else if (info.startTime >= since) this.#isNoted('started', run.runId, run.startTime);
    }
    this.#listed = listed;
    this.#noteWaits(waiting, { again, isFirst, now });
    for (const run of ended) {
      const isNoted = this.#isNoted('ended', run.runId, run.endTime);
      if (this.#waiting.delete(run.runId)) this.#note({ type: 'decided', run });
      if (!isNoted && !isFirst) this.#note({ type: 'ended', run });
    }
    this.#answeredAt = now;
  }

  /** `again`: the runs that were announced since the last question. */
  #noteWaits(
    waiting: ReadonlyMap<string, FeedRun>,
    { again, isFirst, now }: { again: ReadonlySet<string>; isFirst: boolean; now: number },
  ): void {
    for (const [runId, run] of waiting) {
      const known = this.#waiting.get(runId);
      this.#waiting.set(runId, run);
      const isOther = again.has(runId) || known?.waitingFor.join('\\n') !== run.waitingFor.join('\\n');
      if (!isFirst && isOther) this.#note({ type: 'waiting', run });
    }
    // A run can be missing from the lists for a moment, such as while it continues as new.
    const before = this.#missing;
    this.#missing = new Map();
    for (const [runId, run] of this.#waiting) {
      if (waiting.has(runId)) continue;
      const since = before.get(runId) ?? now;
      if (now - since < ASK_MS) this.#missing.set(runId, since);
      else {
        this.#waiting.delete(runId);
        this.#note({ type: 'decided', run: { ...run, status: 'running', waitingFor: [] } });
      }
    }
  }

  #note(item: FeedItemContent): void {
    this.#log.append(item, jsonBytes(item), KEPT);
  }

  /** True if it was already noted. */
  #isNoted(type: string, runId: string, time: string | undefined): boolean {
    const key = JSON.stringify([type, runId, time]);
    if (this.#noted.has(key)) return true;
    this.#noted.set(key, true);
    return false;
  }

  #cursorOf(index: number): string {
    return Buffer.from(JSON.stringify([this.#id, index])).toString('base64url');
  }

  /** Returns the index of a cursor of this reader; undefined for another reader's cursor. Throws `invalid_cursor` for anything else. */
  #placeOf(cursor: string): number | undefined {
    const read: unknown = parsedJson(Buffer.from(cursor, 'base64url').toString());
    const [id, index]: unknown[] = Array.isArray(read) ? read : [];
    if (typeof id !== 'string' || typeof index !== 'number' || !Number.isSafeInteger(index))
      throw new LonghaulError(
        'invalid_cursor',
        'The cursor is not the cursor of a feed: begin without one, and take each from the item before',
      );
    return id === this.#id ? index : undefined;
  }
}

/** True for an execution that continues another one, so the run has started before. The server's lists do not say so. */
async function isContinued(client: Client, { workflowId, runId }: WorkflowExecutionInfo): Promise<boolean> {
  const begun = await startedEvent(client, workflowId, runId);
  return begun !== undefined && continuedFrom(begun) !== undefined;
}

/** Characters of a title and of the names of tools: an item has at most 2 kB. */
const TITLE_LENGTH = 200;
const MOST_TOOLS = 10;

async function feedRun(client: Client, info: WorkflowExecutionInfo): Promise<FeedRun> {
  const { runId, agentName, status, waitingFor, title, startTime, endTime } = await runEntry(client, info);
  return {
    runId,
    ...defined({ agentName, status }),
    waitingFor: waitingFor.slice(0, MOST_TOOLS),
    ...defined({ title: title?.slice(0, TITLE_LENGTH).toWellFormed() }),
    startTime,
    ...(endTime === null ? {} : { endTime }),
  };
}
