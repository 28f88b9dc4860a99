import type { Client } from '@temporalio/client';
import { LRUCache } from 'lru-cache';
import type { AgentTraceHeader } from '../core/domain/agent-trace.ts';
import type { ApprovalView } from '../core/domain/approvals.ts';
import { type ErrorCode, errorCode, LonghaulError } from '../core/domain/errors.ts';
import { defined } from '../core/domain/json.ts';
import type { WaitForWorker } from '../core/domain/views.ts';
import type { Missing } from '../core/domain/missing-definitions.ts';
import type { Event } from '../core/domain/record.ts';
import type { RequestedParts, RunResultFields, TraceContext } from '../core/domain/result.ts';
import { isTerminal, type RunStatus } from '../core/domain/run.ts';
import type { StepResult } from '../core/domain/tool-calls.ts';
import { ExecutionTrace } from '../core/domain/trace.ts';
import type { TraceEntry, TracePage } from '../core/program/trace.ts';
import { type ContextPage, QUERIES, type StatusView, type StepsPage } from '../core/protocol.ts';
import type { ReadBackRun } from '../history/read-run.ts';
import { runOutcome, statusOf } from '../temporal/run-workflow.ts';
import { sleep, waitEnded, type WaitOptions, waitSignal } from '../temporal/waiting.ts';
import type { ResultOptions, ResultParts } from './client-options.ts';
import { type NewestExecution, type OwnApprovals, queryApprovals, queryRun, type RunApprovals, RunChain } from './executions.ts';
import { withNewest } from './missing-workers.ts';
import { waitForWorker } from './worker-waits.ts';
import { readRuns, type UnreadRun, unreadError } from './unread-runs.ts';

/**
 * Reads a run: the newest execution by query if a worker answers, and everything else from history, across all executions
 * of the run. The code that reads histories is most of the package, so this file and those that use the reader load it on demand.
 */
export class RunReader {
  readonly chain: RunChain;
  readonly #client: Client;
  readonly #runId: string;

  constructor(client: Client, runId: string) {
    this.#client = client;
    this.#runId = runId;
    this.chain = new RunChain(client, runId);
  }

  /** Returns the status of the run, with its step and usage. */
  async status(): Promise<StatusView> {
    const execution = await this.chain.newest();
    // To answer for an ended run, a worker has to replay it, which delays open runs: the history says the same.
    const view = execution.closed ? undefined : await queryRun<StatusView>(this.#client, this.#runId, QUERIES.status);
    const status = view === undefined ? await this.#recordedStatus(execution) : asEnded(view, execution);
    const { missing: reported = [], ...known } = status;
    if (execution.closed) return { ...known, waitingFor: [] };
    const missing = withNewest(reported, execution.missing);
    const waitsForWorker = await this.#waitForWorker(execution, view !== undefined);
    return {
      ...known,
      ...(missing.length === 0 ? {} : { missing }),
      ...defined({ waitsForWorker }),
      ...(execution.running.length === 0 ? {} : { running: execution.running }),
    };
  }

  /** Returns what the server knows of the calls and tasks of the run: no worker is asked. */
  async progress(): Promise<Pick<NewestExecution, 'running' | 'waitingTask'>> {
    const { running, waitingTask } = await this.chain.newest();
    return { running, ...defined({ waitingTask }) };
  }

  /** A call may also have been in progress in a worker that was killed: then nothing waits yet, and nobody answers the query. */
  async #waitForWorker({ waitingTask: task, taskQueue }: NewestExecution, isAnswered: boolean): Promise<WaitForWorker | undefined> {
    if (task !== undefined || isAnswered) return waitForWorker(this.#client, task);
    const wait = await waitForWorker(this.#client, { kind: 'workflow', taskQueue, since: new Date() });
    return wait?.why === 'no_worker' ? wait : undefined;
  }

  /** Returns the pending approvals of the run and of all its descendants, each with the run that waits, and the remembered decisions. */
  async approvals(): Promise<RunApprovals> {
    const {
      unread: [unread],
      ...approvals
    } = await this.readableApprovals();
    if (unread !== undefined) throw unreadError(unread);
    return approvals;
  }

  /** As `approvals`, but with the descendants whose approvals could not be read. */
  async readableApprovals(): Promise<ReadableApprovals> {
    const execution = await this.chain.newest();
    const answer = execution.closed ? undefined : await queryApprovals(this.#client, this.#runId);
    const own = answer === undefined ? await this.#recordedApprovals(execution) : asEnded(answer, execution);
    const { children = [], ...approvals } = own;
    if (execution.closed) return { ...approvals, pending: [], unread: [] };
    const pending: ApprovalView[] = approvals.pending.map((waiting) => ({ ...waiting, runId: this.#runId }));
    const unread: UnreadRun[] = [];
    const runs = children.map((runId) => ({ runId }));
    for await (const { value, unread: one } of readRuns(this.#client, runs, ({ runId }) => approvalsOfChild(this.#client, runId))) {
      if (one !== undefined) unread.push(one);
      pending.push(...(value?.pending ?? []));
      unread.push(...(value?.unread ?? []));
    }
    return { ...approvals, pending, unread };
  }

  /** Returns the ExecutionContext with a page of events. Throws `history_removed` if the server has removed the first of them. */
  async context(from: number): Promise<ContextPage> {
    const [execution, page] = await Promise.all([this.chain.newest(), this.#page(from)]);
    const newest = asEnded(page ?? (await this.#recordedContext(from)), execution);
    if (beginsAtOffset(newest, from)) return newest;
    for await (const events of this.#history(from, page)) return { ...newest, from, events };
    return newest;
  }

  /** Returns the current deps and state of the run. */
  async data(): Promise<Pick<ContextPage, 'deps' | 'state'>> {
    return (await this.#page(Number.MAX_SAFE_INTEGER)) ?? this.#recordedContext(Number.MAX_SAFE_INTEGER);
  }

  /**
   * Yields the events from an offset on, until the end of the record or, with `follow`, of the run. Throws `history_removed` if the server
   * has removed the event at that offset.
   */
  async *events({ from = 0, follow = false, signal }: FollowOptions): AsyncGenerator<Event> {
    let offset = from;
    let wait = SHORTEST_PAUSE_MS;
    let silent = false;
    for (;;) {
      signal?.throwIfAborted();
      // Checked before reading, so that the events read include all up to the end.
      const ended = (silent || wait > SHORTEST_PAUSE_MS) && (await this.chain.newest()).closed;
      const before = offset;
      const page = await this.#page(offset);
      for await (const events of page !== undefined && beginsAtOffset(page, offset) ? [page.events] : this.#history(offset, page)) {
        for (const event of events) {
          signal?.throwIfAborted();
          yield event;
        }
        offset += events.length;
      }
      silent = page === undefined;
      // The history alone does not say whether more is to come.
      const isAll = page === undefined ? !follow || ended || offset === before : offset >= page.total;
      if (!isAll) continue;
      if (!follow || ended || (page !== undefined && isTerminal(page.status))) return;
      wait = offset > before ? SHORTEST_PAUSE_MS : Math.min(wait * 1.5, LONGEST_PAUSE_MS);
      await sleep(wait, signal);
    }
  }

  /** Yields all events that the server still has, from history. */
  async *eventsLeft(): AsyncGenerator<Event> {
    const { readRun } = await import('../history/read-run.ts');
    for await (const { events } of readRun(this.#client, this.#runId, this.chain)) yield* events;
  }

  /** Returns the trace of the run so far: by query for a program while one execution has all of it, otherwise from the events. */
  async trace(): Promise<ExecutionTrace> {
    return (await this.#queriedTrace()) ?? this.#recordedTrace();
  }

  /** Returns the span of the run, or of a turn of a session, in the operator's traces. */
  async traceContext(turn?: number): Promise<TraceContext> {
    const { spanOfRun } = await import('./exported-trace.ts');
    return spanOfRun(this.#client, this.#runId, turn);
  }

  /** Returns all steps that the server still has. */
  async steps(): Promise<StepResult[]> {
    const steps: StepResult[] = [];
    for (;;) {
      const index = steps.at(-1)?.step ?? 0;
      const page = await queryRun<StepsPage>(this.#client, this.#runId, QUERIES.steps, { from: index });
      if (page === undefined) return [...steps, ...(await this.recordedSteps(index))];
      const isWholePage = index >= page.firstIndex && (page.steps.length > 0 || index >= page.total);
      const next = isWholePage ? page.steps : await this.recordedSteps(index);
      steps.push(...next);
      if (next.length === 0 || (steps.at(-1)?.step ?? 0) >= page.total) return steps;
    }
  }

  /** Returns the steps from an index on, from history. */
  async recordedSteps(from = 0): Promise<StepResult[]> {
    const { readRun } = await import('../history/read-run.ts');
    const steps: StepResult[] = [];
    for await (const read of readRun(this.#client, this.#runId, this.chain, { fromStep: from })) {
      steps.push(...read.steps.filter(({ step }) => step > from));
    }
    return steps;
  }

  /** Returns the status from the history. It is cached for an ended run, since everyone who sees the run end asks for it. */
  #recordedStatus(execution: NewestExecution): Promise<StatusView> {
    return execution.closed
      ? endedStatus(this.#client, `${this.#runId} ${execution.executionId}`, () => this.#foldedStatus(execution))
      : this.#foldedStatus(execution);
  }

  async #foldedStatus(execution: NewestExecution): Promise<StatusView> {
    const { statusFrom } = await import('./recorded-views.ts');
    const recorded = await this.recordedRun();
    const status = statusFrom(this.#runId, execution, recorded);
    return execution.closed ? { ...status, ...(await this.#endOf(execution, recorded)) } : status;
  }

  /** Returns when the run ended, and the code of its error. A run that was ended from outside has no result, so the server says it. */
  async #endOf(
    { status, endTime }: NewestExecution,
    { result: recorded }: ReadBackRun,
  ): Promise<Pick<StatusView, 'endTime' | 'errorCode'>> {
    const outside = ENDED_FROM_OUTSIDE[status];
    if (outside !== undefined) return defined({ endTime, errorCode: outside });
    // The record of a run whose agent was never resolved has no end.
    const result = recorded ?? (await runOutcome(this.#client, this.#runId).catch(() => undefined));
    return defined({ endTime: result?.endTime ?? endTime, errorCode: result?.errorCode });
  }

  async #recordedApprovals(execution: NewestExecution): Promise<OwnApprovals> {
    const { approvalsFrom } = await import('./recorded-views.ts');
    return approvalsFrom(this.#runId, execution, await this.recordedRun());
  }

  async #recordedContext(from: number): Promise<ContextPage> {
    const { contextFrom } = await import('./recorded-views.ts');
    return contextFrom(this.#runId, await this.recordedRun(), from);
  }

  async #page(from: number): Promise<ContextPage | undefined> {
    return queryRun<ContextPage>(this.#client, this.#runId, QUERIES.context, { from });
  }

  /**
   * Yields the events that the answer of the newest execution lacks, by execution: events of earlier executions, or the one
   * that is too large for an answer. Without an answer, all events from the offset on.
   */
  async *#history(from: number, answer: ContextPage | undefined): AsyncGenerator<Event[]> {
    const { readRun } = await import('../history/read-run.ts');
    let offset = from;
    const untilOffset = answer !== undefined && from < answer.firstOffset ? answer.firstOffset : Infinity;
    for await (const read of readRun(this.#client, this.#runId, this.chain, { fromOffset: from, untilOffset })) {
      if (read.firstOffset > offset) throw eventsRemoved(this.#runId, offset, read.firstOffset);
      const events = read.events.slice(offset - read.firstOffset);
      const [first] = events;
      if (first === undefined) continue;
      if (answer?.nextId !== undefined) {
        yield [{ ...first, id: answer.nextId }];
        return;
      }
      offset += events.length;
      yield events;
    }
  }

  async #queriedTrace(): Promise<ExecutionTrace | undefined> {
    const entries: TraceEntry[] = [];
    for (let from = 0; ;) {
      const answer = await queryRun<TracePage>(this.#client, this.#runId, QUERIES.trace, { from });
      if (answer?.model !== undefined) {
        const { programName: agentName, startTime, model } = answer;
        return this.#traceOfAgent({ agentName, model, startTime });
      }
      if (answer === undefined || answer.firstOffset > 0) return undefined;
      entries.push(...answer.entries);
      if (answer.next >= answer.total) {
        const { assembleTrace } = await import('../core/program/trace.ts');
        return assembleTrace(answer, entries);
      }
      from = answer.next;
    }
  }

  async #recordedTrace(): Promise<ExecutionTrace> {
    const { agentName, startedAt, state } = await this.recordedRun();
    const startTime = startedAt / 1000;
    if (state === undefined) return new ExecutionTrace({ programName: agentName, backendName: '', startTime, spans: [] });
    if (state.program === undefined) return this.#traceOfAgent({ agentName, model: state.snapshot.model, startTime });
    const { traceOf } = await import('../core/program/trace.ts');
    return traceOf(state.program.document, await Array.fromAsync(this.events({})));
  }

  /** Reads events before steps: a call that ends in between has a step, and is still open in the events. */
  async #traceOfAgent(header: AgentTraceHeader): Promise<ExecutionTrace> {
    const { agentTrace } = await import('../core/domain/agent-trace.ts');
    const events = await Array.fromAsync(this.events({}));
    return agentTrace(header, { events, steps: await this.steps() });
  }

  /** Reads the newest execution from its history. Throws `run_not_found`, and `history_removed` if the server has removed it. */
  async recordedRun(): Promise<ReadBackRun> {
    const { executionId } = await this.chain.newest();
    const { readExecution } = await import('../history/read-run.ts');
    const read = await readExecution(this.#client, this.#runId, executionId);
    if (read !== undefined) return read.run;
    throw new LonghaulError('history_removed', `The server has removed the newest execution of run "${this.#runId}"`);
  }
}

/**
 * Bounds of the cached statuses of ended runs. An ended execution does not change. Whether the server still has it, and whether it is
 * the newest one of its run, is checked each time. A removed encryption key takes effect after the `ttl`.
 */
const KEPT_STATUSES = { max: 200, ttl: 30_000, ttlAutopurge: true };

const endedStatuses = new WeakMap<Client, LRUCache<string, Promise<StatusView>>>();

/** Returns the status of an ended execution, cached or shared with a read in progress. */
function endedStatus(client: Client, execution: string, read: () => Promise<StatusView>): Promise<StatusView> {
  const kept = endedStatuses.get(client) ?? new LRUCache<string, Promise<StatusView>>(KEPT_STATUSES);
  endedStatuses.set(client, kept);
  const known = kept.get(execution);
  if (known !== undefined) return known;
  const status = read();
  kept.set(execution, status);
  status.catch(() => kept.delete(execution));
  return status;
}

/** Corrects the status of a run that was ended from outside: the run's answer still has the status before that. */
function asEnded<View extends { status: RunStatus }>(view: View, { closed, status }: NewestExecution): View {
  return closed && !isTerminal(view.status) ? { ...view, status: statusOf(status) } : view;
}

/** Returns the error for events that the server has removed. */
export function eventsRemoved(runId: string, from: number, through: number): LonghaulError {
  return new LonghaulError(
    'history_removed',
    `Events ${from} to ${through - 1} of run "${runId}" are gone: the server has removed their execution (retention). ` +
      `Read from offset ${through} on, or export the run with its archive`,
  );
}

/** The approvals of a run and of the descendants that could be read. */
export interface ReadableApprovals extends RunApprovals {
  unread: UnreadRun[];
}

/** Returns the pending approvals of a child, each with the run that waits: the child or one of its descendants. */
async function approvalsOfChild(client: Client, runId: string): Promise<Pick<ReadableApprovals, 'pending' | 'unread'>> {
  try {
    const { pending, about, unread } = await new RunReader(client, runId).readableApprovals();
    return { pending: pending.map((waiting) => ({ about, ...waiting, runId: waiting.runId ?? runId })), unread };
  } catch (error) {
    // The child has not started yet, or was deleted.
    if (errorCode(error) === 'run_not_found') return { pending: [], unread: [] };
    throw error;
  }
}

/** The options of reading events. */
export interface FollowOptions {
  /** The offset of the first event to read. Default 0. */
  from?: number;
  /** True to wait for further events until the run ends. */
  follow?: boolean;
  /** Ends the stream: the iterator throws the reason of the signal. */
  signal?: AbortSignal;
}

/** The pauses between two queries: short while events arrive, longer otherwise, since an idle run must not keep its worker busy. */
const SHORTEST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 1_000;

/** True if the page begins at the requested offset. A page is empty if its first event is too large for an answer. */
function beginsAtOffset(page: ContextPage, from: number): boolean {
  return from >= page.firstOffset && (page.events.length > 0 || from >= page.total);
}

/** Waits for the end of a run, and reads its whole result. */
export class AwaitedResult {
  readonly #client: Client;
  readonly #runId: string;
  readonly #reader: RunReader;
  #isRun: boolean;

  /** `isRun`: the workflow is known to be a run. */
  constructor(client: Client, runId: string, reader: RunReader, isRun = false) {
    this.#client = client;
    this.#runId = runId;
    this.#reader = reader;
    this.#isRun = isRun;
  }

  /** Returns the result and its parts. Throws `run_not_found`, `run_terminated`, `run_timed_out`, `wait_timeout`, or the abort reason. */
  async read({
    steps = false,
    deps = false,
    state = false,
    trace = false,
    traceContext = false,
    ...options
  }: ResultOptions): Promise<{ fields: RunResultFields; parts: RequestedParts }> {
    const fields = await this.#wait(options, async () => {
      // Any workflow has a result to wait for. A run that this client started is known to be a run.
      if (!this.#isRun) await this.#reader.chain.newest();
      this.#isRun = true;
      return runOutcome(this.#client, this.#runId);
    });
    return { fields: await this.#whole(fields, steps), parts: await this.#parts({ deps, state, trace, traceContext }) };
  }

  /** Adds the fields that the closing event leaves out, read from the history. */
  async #whole(fields: RunResultFields, steps: boolean): Promise<RunResultFields> {
    const { outputTruncated, ...rest } = fields;
    const recorded = outputTruncated ? (await this.#reader.recordedRun()).result : undefined;
    const output = recorded === undefined ? fields : { ...rest, output: recorded.output };
    return steps ? { ...output, steps: await this.#reader.recordedSteps() } : output;
  }

  /** Reads the requested parts at the end of the run. */
  async #parts({ deps, state, trace, traceContext }: Omit<ResultParts, 'steps'>): Promise<RequestedParts> {
    const data = deps || state ? await this.#reader.data() : undefined;
    return {
      ...(deps ? { deps: data?.deps ?? {} } : {}),
      ...(state ? { state: data?.state ?? {} } : {}),
      ...(trace ? { trace: await this.#reader.trace() } : {}),
      ...(traceContext ? { traceContext: await this.#reader.traceContext() } : {}),
    };
  }

  /** Returns likely reasons why the run has not ended in time. Empty on an error, since the caller has waited long enough. */
  async #missing(): Promise<Missing[]> {
    const { missing } = await this.#reader.chain.newest().catch(() => ({ missing: [] }));
    return missing;
  }

  async #wait<Value>(options: WaitOptions, work: () => Promise<Value>): Promise<Value> {
    const signal = waitSignal(options);
    if (signal === undefined) return work();
    // The SDK waits forever with a signal that was aborted before the call.
    signal.throwIfAborted();
    try {
      return await this.#client.withAbortSignal(signal, work);
    } catch (error) {
      if (!signal.aborted) throw error;
      throw waitEnded(this.#runId, options, options.signal?.aborted ? [] : await this.#missing());
    }
  }
}

/** The codes for runs that the server has ended, by Temporal's status. */
const ENDED_FROM_OUTSIDE: Readonly<Record<string, ErrorCode>> = { TERMINATED: 'run_terminated', TIMED_OUT: 'run_timed_out' };
