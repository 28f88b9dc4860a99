import type { Client } from '@temporalio/client';
import { defined } from '../core/domain/json.ts';
import { errorCode, errorMessage } from '../core/domain/errors.ts';
import { recordsInOrder, type RunRecord } from '../core/domain/record.ts';
import type { RunResultFields } from '../core/domain/result.ts';
import type { NotArchived } from '../core/domain/run.ts';
import { isoTime } from '../core/domain/time.ts';
import type { CallsNotRun } from '../core/domain/tool-calls.ts';
import type { AggregatedUsage } from '../core/domain/usage.ts';
import { archiveProgress } from '../core/capabilities/archive.ts';
import { type ReadExecution, readRun } from '../history/read-run.ts';
import type { ArchiveSink } from '../stores/file-archive.ts';
import type { StoredRun } from '../stores/payload-store.ts';
import { readFromStore } from '../stores/store-failures.ts';
import { runOutcome } from '../temporal/run-workflow.ts';
import { RunChain } from './executions.ts';

/** The options of an export. */
export interface ExportOptions {
  /** Holds the records that the server may have removed. */
  archive?: ArchiveSink | undefined;
}

/**
 * Yields the complete run, line by line: its description, its events and steps in order, the points at which it continued
 * as new, its usage, its end, and what is missing. Reads from the history, so no worker is needed, and keeps one execution at
 * a time in memory. Throws `run_not_found` if neither the server nor the archive has anything of the run,
 * and `archive_failed`.
 */
export async function* exportRun(client: Client, runId: string, { archive }: ExportOptions = {}): AsyncGenerator<ExportLine> {
  yield* exportExecutions(client, { runId, chain: new RunChain(client, runId), archive });
}

/** The executions to export as one run. */
export interface ExportedChain {
  runId: string;
  chain: Pick<RunChain, 'executions'>;
  archive: ArchiveSink | undefined;
  /** Called with each execution that was read, before its lines. Its records are released after them. */
  seen?: (read: ReadExecution) => void;
}

/** As `exportRun`, for the executions of a chain. */
export function exportExecutions(client: Client, exported: ExportedChain): AsyncGenerator<ExportLine> {
  return new RunExport(client, exported).lines();
}

class RunExport {
  readonly #client: Client;
  readonly #run: StoredRun;
  readonly #chain: ExportedChain['chain'];
  readonly #archive: ArchiveSink | undefined;
  readonly #seen: ExportedChain['seen'];
  readonly #offsets = new Numbering();
  readonly #indexes = new Numbering();
  #executions = 0;

  constructor(client: Client, { runId, chain, archive, seen }: ExportedChain) {
    this.#client = client;
    this.#run = { namespace: client.options.namespace, runId };
    this.#chain = chain;
    this.#archive = archive;
    this.#seen = seen;
  }

  async *lines(): AsyncGenerator<ExportLine> {
    const { runId } = this.#run;
    const executions = readRun(this.#client, runId, this.#chain);
    let read = await this.#first(executions);
    yield this.#header(read);
    yield* this.#archived(read);
    let last: ReadExecution | undefined;
    while (read !== undefined) {
      this.#seen?.(read);
      yield* this.#execution(read);
      // Its records may be large, and are no longer needed.
      last = { ...read, events: [], steps: [] };
      read = nextOf(await executions.next());
    }
    if (last !== undefined) yield* this.#ending(last);
    yield this.#summary(last);
  }

  /** Returns undefined if nothing is left on the server but the archive has something. */
  async #first(executions: AsyncGenerator<ReadExecution>): Promise<ReadExecution | undefined> {
    try {
      return nextOf(await executions.next());
    } catch (error) {
      if (errorCode(error) !== 'run_not_found' || !(await this.#isArchived())) throw error;
      return undefined;
    }
  }

  async #isArchived(): Promise<boolean> {
    for await (const _ of this.#archiveRecords()) return true;
    return false;
  }

  #archiveRecords(): AsyncIterable<RunRecord> {
    const { runId } = this.#run;
    return readFromStore('archive', `The archive of run "${runId}" was not read`, this.#archive?.read(this.#run) ?? nothing());
  }

  #header(read: ReadExecution | undefined): ExportedRun {
    return {
      type: 'run',
      version: 1,
      ...this.#run,
      agentName: read?.run.agentName ?? '',
      snapshotDigest: read?.run.state?.snapshot.digest ?? null,
      startTime: read === undefined ? null : isoTime(read.run.startedAt),
    };
  }

  /** Yields the archived records before the first execution that the server still has. */
  async *#archived(read: ReadExecution | undefined): AsyncGenerator<ExportLine> {
    const { firstOffset = Infinity, firstStep = Infinity } = read ?? {};
    if (this.#archive === undefined || (firstOffset === 0 && firstStep === 0)) return;
    let begun = false;
    for await (const record of this.#archiveRecords()) {
      if (record.type === 'event' ? record.offset >= firstOffset : record.index >= firstStep) continue;
      if (!begun) yield { type: 'archive', offset: record.type === 'event' ? record.offset : 0, step: 0 };
      begun = true;
      if (this.#isNew(record)) yield record;
    }
  }

  async *#execution(read: ReadExecution): AsyncGenerator<ExportLine> {
    const { executionId, continuedFrom = null, firstOffset, firstStep, run, next } = read;
    this.#executions += 1;
    this.#offsets.reach(firstOffset);
    this.#indexes.reach(firstStep);
    yield { type: 'execution', number: run.executions, executionId, continuedFrom, offset: firstOffset, step: firstStep };
    for (const record of recordsInOrder(read)) {
      // The next execution says where it begins: records from there on belong to it.
      const belongs =
        record.type === 'event' ? record.offset < (next?.firstOffset ?? Infinity) : record.index < (next?.firstStep ?? Infinity);
      if (belongs && this.#isNew(record)) yield record;
    }
  }

  #isNew(record: RunRecord): boolean {
    return record.type === 'event' ? this.#offsets.pass(record.offset) : this.#indexes.pass(record.index);
  }

  async *#ending({ executionId, run, end }: ReadExecution): AsyncGenerator<ExportLine> {
    const { state, result } = run;
    if (state !== undefined) {
      const { usage, toolCallsTotal, toolCallsByName, toolCallsNotRun } = state;
      yield {
        type: 'usage',
        ...usage,
        toolCallsTotal,
        toolCallsByName: Object.fromEntries(toolCallsByName),
        ...defined({ toolCallsNotRun }),
      };
    }
    if (end?.type !== 'closed') return;
    try {
      const { outputTruncated, ...fields } = await runOutcome(this.#client, this.#run.runId, executionId);
      this.#indexes.reach(fields.stepsUsed);
      const isWhole = !outputTruncated || result !== undefined;
      yield {
        type: 'result',
        ...fields,
        ...(isWhole ? {} : { outputTruncated }),
        ...(outputTruncated && result !== undefined ? { output: result.output } : {}),
      };
    } catch (error) {
      const code = errorCode(error);
      if (code === undefined) throw error;
      yield { type: 'failure', code, message: errorMessage(error) };
    }
  }

  #summary(last: ReadExecution | undefined): ExportSummary {
    const notArchived = last?.run.state && archiveProgress(last.run.state).notArchived;
    return {
      type: 'summary',
      version: 1,
      runId: this.#run.runId,
      live: last !== undefined && last.end === undefined,
      events: this.#offsets.passed,
      steps: this.#indexes.passed,
      executions: this.#executions,
      gaps: this.#offsets.missing,
      missingSteps: this.#indexes.missing,
      ...defined({ notArchived }),
    };
  }
}

async function* nothing(): AsyncGenerator<never> {}

function nextOf(result: IteratorResult<ReadExecution, unknown>): ReadExecution | undefined {
  return result.done ? undefined : result.value;
}

/** Checks numbers that must arrive in order: accepts each once, and collects the missing ones. */
export class Numbering {
  readonly missing: MissingRange[] = [];
  /** The number of accepted numbers. */
  passed = 0;
  #next = 0;

  /** Accepts a number. True if it is new. */
  pass(number: number): boolean {
    if (number < this.#next) return false;
    this.reach(number);
    this.#next = number + 1;
    this.passed += 1;
    return true;
  }

  /** Marks all numbers below `number` that were not accepted as missing. */
  reach(number: number): void {
    if (number <= this.#next) return;
    this.missing.push({ from: this.#next, through: number });
    this.#next = number;
  }
}

/** A half-open range of offsets or indexes: `from` is included, `through` is not. */
export interface MissingRange {
  /** The first missing number. */
  from: number;
  /** The first number after it that is not missing. */
  through: number;
}

/** The first line of an export: the run that is exported. */
export interface ExportedRun {
  /** Distinguishes the lines of an export: this is the first. */
  type: 'run';
  /** The version of the form of exports: 1. */
  version: 1;
  /** The run that is exported. */
  runId: string;
  /** The Temporal namespace of the run. */
  namespace: string;
  /** Empty if nothing of the run is left on the server. */
  agentName: string;
  /** The digest of the agent's snapshot; null if the agent was never resolved or nothing is left on the server. */
  snapshotDigest: string | null;
  /** ISO 8601; null if nothing is left on the server. */
  startTime: string | null;
}

/** The line before the records of an execution: at the start, and at each continue-as-new. */
export interface ExportedExecution {
  /** Distinguishes the lines of an export: an execution of the run begins. */
  type: 'execution';
  /** 1-based, in the run as a whole. */
  number: number;
  /** Temporal's run id. */
  executionId: string;
  /** The id of the previous execution; null for the first. */
  continuedFrom: string | null;
  /** The offset of its first event. */
  offset: number;
  /** The index of its first step. */
  step: number;
}

/** The last line of an export: its counts, and what is missing. */
export interface ExportSummary {
  /** Distinguishes the lines of an export: this is the last, so an export without it is truncated. */
  type: 'summary';
  /** The version of the form of exports: 1. */
  version: 1;
  /** The run that was exported. */
  runId: string;
  /** True if the run is still running: the export holds what was recorded when it was read. */
  live: boolean;
  /** The number of events in this export. */
  events: number;
  /** The number of steps in this export. */
  steps: number;
  /** The number of executions that were read. */
  executions: number;
  /** The offsets of events that are missing. */
  gaps: MissingRange[];
  /** The indexes of steps that are missing. */
  missingSteps: MissingRange[];
  /** Events that the run could not archive. Those in this export came from the server, which removes them after its retention. */
  notArchived?: NotArchived[];
}

/** One line of an export. */
export type ExportLine =
  | ExportedRun
  /** The line before the records from the archive, which the server has removed. */
  | { type: 'archive'; offset: number; step: number }
  | ExportedExecution
  | RunRecord
  /** The usage of the run so far. */
  | ({ type: 'usage'; toolCallsTotal: number; toolCallsByName: Record<string, number>; toolCallsNotRun?: CallsNotRun } & AggregatedUsage)
  /** The end of the run, with the whole output and without the steps. Present only for a run that has ended. */
  | ({ type: 'result' } & Omit<RunResultFields, 'steps'>)
  /** Replaces the result line of a run that was ended from outside. */
  | { type: 'failure'; code: string; message: string }
  | ExportSummary;
