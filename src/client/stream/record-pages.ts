import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { jsonBytes } from '../../core/domain/byte-budgets.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors.ts';
import { defined } from '../../core/domain/json.ts';
import { completesStep, endsModelCall, type Event } from '../../core/domain/record.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import { type Delta, isEarlierAttempt, type StreamedAttempt } from '../../core/domain/stream.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';
import { QUERIES, type RecordPage } from '../../core/protocol.ts';
import type { ReadExecution } from '../../history/read-run.ts';
import { BoundedLog } from '../../streams/waits.ts';
import { queryRun, type RunChain } from '../executions.ts';
import type { StreamedResult } from './stream-item.ts';

/** A place in the record: the next event and the next step. */
export interface RecordPlace {
  offset: number;
  step: number;
}

/** A part of the record that begins at a place. */
interface RecordStretch {
  events: readonly Event[];
  steps: readonly StepResult[];
  /** True if the record ended there when it was read. */
  isLast: boolean;
  /** Absent if no worker answered. */
  status?: RunStatus;
  /** The execution that answered. Absent if none did. */
  executionId?: string;
}

/** The end of the record at some moment. */
interface RecordEnd extends RecordPlace {
  /** Absent if no worker answered. */
  status?: RunStatus;
}

/** Bounds of the pages shared by readers that begin at the same time. */
const KEPT_PAGES = { max: 4, ttl: 10_000, ttlAutopurge: true };

/** How long the history is read without a query after no worker has answered: each query then takes seconds. */
const SILENT_MS = 5_000;

/** Reads the record of a run page by page: from the workflow while the run is open and a worker answers, otherwise from the history. */
export class RecordPages {
  readonly #client: Client;
  readonly #runId: string;
  readonly #chain: RunChain;
  #silentUntil = 0;
  readonly #kept = new LRUCache<string, Promise<RecordStretch>>(KEPT_PAGES);

  constructor(client: Client, runId: string, chain: RunChain) {
    this.#client = client;
    this.#runId = runId;
    this.#chain = chain;
  }

  /** Records that the run has ended. Its history is complete, and a worker would have to replay the run to answer. */
  ended(): void {
    this.#silentUntil = Infinity;
  }

  /** Reads a page, or returns one that another reader has just read or is reading. It may lack the newest records. */
  shared(place: RecordPlace): Promise<RecordStretch> {
    const key = `${place.offset}/${place.step}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const page = this.read(place);
    this.#kept.set(key, page);
    const forget = (): void => void this.#kept.delete(key);
    // Later readers read the end of the record again.
    page.then(({ events }) => (events.length === 0 ? forget() : undefined), forget);
    return page;
  }

  /** Reads a page. Throws `run_not_found`, and `history_removed` if the server has removed the event at that place. */
  async read(place: RecordPlace): Promise<RecordStretch> {
    const answer = await this.#query(place);
    if (answer === undefined || !covers(answer, place)) return this.#fromHistory(place, answer);
    const { events, steps, total, totalSteps, status } = answer;
    const isLast = place.offset + events.length >= total && place.step + steps.length >= totalSteps;
    return { events, steps, isLast, status, ...executionOf(answer) };
  }

  /** Returns the end of the record. Throws `run_not_found`. */
  async end(): Promise<RecordEnd> {
    const answer = await this.#query({ offset: Number.MAX_SAFE_INTEGER, step: Number.MAX_SAFE_INTEGER });
    if (answer !== undefined) {
      const { total, totalSteps, status } = answer;
      return { offset: total, step: totalSteps, status };
    }
    const { executionId } = await this.#chain.newest();
    const { readExecution } = await import('../../history/read-run.ts');
    const read = await readExecution(this.#client, this.#runId, executionId);
    if (read === undefined) return { offset: 0, step: 0 };
    // A program counts its model calls, and has no steps of an agent.
    const step = read.run.state?.program === undefined ? read.firstStep + read.steps.length : 0;
    return { offset: read.firstOffset + read.events.length, step };
  }

  async #query({ offset, step }: RecordPlace): Promise<RecordPage | undefined> {
    if (Date.now() < this.#silentUntil) return undefined;
    const answer = await queryRun<RecordPage>(this.#client, this.#runId, QUERIES.record, { from: offset, step });
    if (answer === undefined) this.#silentUntil = Date.now() + SILENT_MS;
    return answer;
  }

  async #fromHistory({ offset, step }: RecordPlace, answer: RecordPage | undefined): Promise<RecordStretch> {
    const status = answer === undefined ? {} : { status: answer.status, ...executionOf(answer) };
    const { readRun } = await import('../../history/read-run.ts');
    for await (const read of readRun(this.#client, this.#runId, this.#chain, { fromOffset: offset, fromStep: step })) {
      if (read.firstOffset > offset) throw recordRemoved(this.#runId, offset, read.firstOffset);
      const { events, steps } = ownRecord(read);
      const more = { events: events.slice(offset - read.firstOffset), steps: steps.slice(Math.max(0, step - read.firstStep)) };
      if (more.events.length > 0 || more.steps.length > 0) return { ...more, isLast: read.next === undefined, ...status };
    }
    return { events: [], steps: [], isLast: true, ...status };
  }
}

function executionOf({ executionId }: RecordPage): { executionId?: string } {
  return defined({ executionId });
}

/** True if the answer holds what is at the place, or if nothing is there. */
function covers({ firstOffset, firstStep, events, steps, total, totalSteps }: RecordPage, { offset, step }: RecordPlace): boolean {
  if (offset < firstOffset || step < firstStep) return false;
  return events.length > 0 || (offset >= total && (steps.length > 0 || step >= totalSteps));
}

/** Returns the records that belong to the execution: the end of its history may hold some that the next execution repeats. */
function ownRecord({ events, steps, firstOffset, firstStep, next }: ReadExecution): Pick<ReadExecution, 'events' | 'steps'> {
  if (next === undefined) return { events, steps };
  return { events: events.slice(0, next.firstOffset - firstOffset), steps: steps.slice(0, next.firstStep - firstStep) };
}

function recordRemoved(runId: string, from: number, through: number): LonghaulError {
  return new LonghaulError(
    'history_removed',
    `Events ${from} to ${through - 1} of run "${runId}" are gone: the server has removed their execution (retention). ` +
      'Export the run with its archive to have them',
  );
}

type RecordEntry = Extract<FeedEntry, { type: 'event' | 'step' }>;

/** Returns the records from a place on, in order: each step follows the event that completed it. */
export function recordEntries({ offset, step }: RecordPlace, { events, steps, isLast }: RecordStretch): RecordEntry[] {
  const entries: RecordEntry[] = [];
  let next = 0;
  const takeSteps = (until: number): void => {
    for (; next < Math.min(until, steps.length); next += 1) {
      const taken = steps[next];
      if (taken !== undefined) entries.push({ type: 'step', index: step + next, step: taken });
    }
  };
  for (const [index, event] of events.entries()) {
    entries.push({ type: 'event', offset: offset + index, event });
    if (completesStep(event)) takeSteps(next + 1);
  }
  // The remaining steps belong to events of the next page.
  if (isLast || events.length === 0) takeSteps(steps.length);
  return entries;
}

/** One entry of a run's feed, which all readers see in the same order. `step` of live output is the step in progress. */
export type FeedEntry =
  | { type: 'event'; offset: number; event: Event }
  | { type: 'step'; index: number; step: StepResult }
  | { type: 'attempt'; of: StreamedAttempt; step: number }
  | { type: 'delta'; of: StreamedAttempt; index: number; delta: Delta; step: number }
  /** Live output may be missing. `offset`: the offset of the next event. */
  | { type: 'gap'; offset: number }
  | { type: 'status'; status: RunStatus; offset: number }
  | { type: 'end'; executionId: string; result: StreamedResult }
  /** The run was sent back to an earlier step: readers start over from their places. */
  | { type: 'sent_back' }
  /** The run can no longer be followed. */
  | { type: 'failed'; error: unknown };

/** Bounds of what is kept for slow readers. Beyond them, readers read the record instead and miss deltas. */
const KEPT_FOR_READERS = { bytes: 4_000_000, entries: 20_000 };

/** The newest entries of a run by position, for any number of readers. */
export class FeedLog extends BoundedLog<FeedEntry> {
  push(entry: FeedEntry): void {
    // The newest entry is kept, however large it is.
    this.append(entry, Math.min(bytesOf(entry), KEPT_FOR_READERS.bytes), KEPT_FOR_READERS);
  }
}

const ENTRY_OVERHEAD_BYTES = 200;

function bytesOf(entry: FeedEntry): number {
  if (entry.type === 'event') return jsonBytes(entry.event) + ENTRY_OVERHEAD_BYTES;
  if (entry.type === 'step') return jsonBytes(entry.step) + ENTRY_OVERHEAD_BYTES;
  return entry.type === 'delta' ? jsonBytes(entry.delta) + ENTRY_OVERHEAD_BYTES : ENTRY_OVERHEAD_BYTES;
}

/** The number of newest calls and responses that are remembered. Output of older ones counts as replaced because of its offset. */
const MOST_KNOWN = 2_000;

/** Knows which live output was replaced by the record or by a later attempt. */
export class ReplacedOutput {
  /** Offsets of the ends of model calls, ascending. */
  #modelCalls: number[] = [];
  /** Offsets of call results by call id, and of the answers of program steps by event id. */
  readonly #results = new Map<string, number>();
  readonly #answers = new Map<string, number>();
  /** Offsets of the ends of program steps by address: no event has the id of a failed attempt. */
  readonly #ends = new Map<string, number>();
  readonly #newest = new Map<string, StreamedAttempt>();

  /** Records an event. */
  recorded(offset: number, event: Event): void {
    const { id, content, step } = event;
    if (endsModelCall(event)) this.#modelCalls = [...this.#modelCalls, offset].toSorted((one, other) => one - other).slice(-MOST_KNOWN);
    if (step !== undefined) put(this.#answers, id, offset);
    if (step?.type === 'end') put(this.#ends, step.at, offset);
    for (const item of content) if (item.type === 'tool_result') put(this.#results, item.toolCallId, offset);
  }

  /**
   * Records the events between two offsets. True if there are that many
   * events, and the server has them.
   */
  async read(pages: Pick<RecordPages, 'shared'>, { offset, step }: RecordPlace, until: number): Promise<boolean> {
    try {
      for (let next = offset; next < until;) {
        const { events } = await pages.shared({ offset: next, step });
        if (events.length === 0) return false;
        for (const [index, event] of events.entries()) this.recorded(next + index, event);
        next += events.length;
      }
      return true;
    } catch (error) {
      if (errorCode(error) !== 'history_removed') throw error;
      return false;
    }
  }

  /** Returns the offset of the event that has replaced the output of an attempt; undefined if there is none yet. */
  offsetOf({ callId, eventId, through }: StreamedAttempt): number | undefined {
    if (through === undefined) return this.#answers.get(eventId) ?? this.#ends.get(callId ?? '');
    // An agent makes one model call at a time, so it is the first one that ends; any of its attempts may have answered.
    return callId === undefined ? this.#modelCalls.find((offset) => offset >= through) : this.#results.get(callId);
  }

  /** Records output of an attempt. True if the attempt is the newest of its call, and the record has not replaced it. */
  isLive(of: StreamedAttempt): boolean {
    const call = of.callId ?? '';
    const newest = this.#newest.get(call);
    if (newest !== undefined && newest.executionId === of.executionId && isEarlierAttempt(of, newest)) return false;
    // An attempt that has answered discards the output of the previous attempt.
    const discardsEarlier = newest !== undefined && newest.eventId !== of.eventId && this.offsetOf(newest) === undefined;
    put(this.#newest, call, of);
    return discardsEarlier || this.offsetOf(of) === undefined;
  }
}

/** Sets an entry as the newest, and drops the oldest ones beyond the bound. */
function put<Value>(map: Map<string, Value>, key: string, value: Value): void {
  map.delete(key);
  map.set(key, value);
  const [oldest] = map.keys();
  if (map.size > MOST_KNOWN && oldest !== undefined) map.delete(oldest);
}
