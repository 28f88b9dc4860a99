import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import { LonghaulError } from '../../core/domain/errors.ts';
import type { Event } from '../../core/domain/record.ts';
import type { RunStatus } from '../../core/domain/run.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';
import { QUERIES, type RecordPage } from '../../core/protocol.ts';
import { type ReadExecution, readExecution, readRun } from '../../history/read-run.ts';
import type { RunChain } from '../read/chain.ts';
import { queryRun } from '../read/query-run.ts';

/** A place in the record: the next event and the next step. */
export interface RecordPlace {
  offset: number;
  step: number;
}

/** A part of the record, from a place on. */
export interface RecordStretch {
  events: readonly Event[];
  steps: readonly StepResult[];
  /** True if nothing of the record was behind it when it was read. */
  isLast: boolean;
  /** Absent if no worker answered. */
  status?: RunStatus;
  /** The execution that has answered. Absent if none has. */
  executionId?: string;
}

/** The end of the record at a moment. */
export interface RecordEnd extends RecordPlace {
  /** Absent if no worker answered. */
  status?: RunStatus;
}

/** Pages that readers which begin at the same time share. */
const KEPT_PAGES = { max: 4, ttl: 10_000, ttlAutopurge: true };

/** The time for which history is read without asking first, if no worker has answered: each question takes seconds then. */
const SILENT_MS = 5_000;

/** Reads the record of a run page by page: from the workflow while the run goes on and a worker answers, and from history otherwise. */
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

  /** Notes that the run has ended. History has all of it, and a worker would have to replay the run to answer. */
  ended(): void {
    this.#silentUntil = Infinity;
  }

  /** Reads a page, or returns the one that another reader has read or is reading at this moment. What was recorded since may be missing. */
  shared(place: RecordPlace): Promise<RecordStretch> {
    const key = `${place.offset}/${place.step}`;
    const kept = this.#kept.get(key);
    if (kept !== undefined) return kept;
    const page = this.read(place);
    this.#kept.set(key, page);
    const forget = (): void => void this.#kept.delete(key);
    // The end of the record is read again by those who come later.
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
    for await (const read of readRun(this.#client, this.#runId, this.#chain, { fromOffset: offset, fromStep: step })) {
      if (read.firstOffset > offset) throw removed(this.#runId, offset, read.firstOffset);
      const { events, steps } = ownRecord(read);
      const more = { events: events.slice(offset - read.firstOffset), steps: steps.slice(Math.max(0, step - read.firstStep)) };
      if (more.events.length > 0 || more.steps.length > 0) return { ...more, isLast: read.next === undefined, ...status };
    }
    return { events: [], steps: [], isLast: true, ...status };
  }
}

function executionOf({ executionId }: RecordPage): { executionId?: string } {
  return executionId === undefined ? {} : { executionId };
}

/** True if the answer holds what is at the place, or nothing is there. */
function covers({ firstOffset, firstStep, events, steps, total, totalSteps }: RecordPage, { offset, step }: RecordPlace): boolean {
  if (offset < firstOffset || step < firstStep) return false;
  return events.length > 0 || (offset >= total && (steps.length > 0 || step >= totalSteps));
}

/** Returns what belongs to the execution: history read to its end may hold what the next one records again. */
function ownRecord({ events, steps, firstOffset, firstStep, next }: ReadExecution): Pick<ReadExecution, 'events' | 'steps'> {
  if (next === undefined) return { events, steps };
  return { events: events.slice(0, next.firstOffset - firstOffset), steps: steps.slice(0, next.firstStep - firstStep) };
}

function removed(runId: string, from: number, through: number): LonghaulError {
  return new LonghaulError(
    'history_removed',
    `Events ${from} to ${through - 1} of run "${runId}" are gone: the server has removed their execution (retention). ` +
      'Export the run with its archive to have them',
  );
}
