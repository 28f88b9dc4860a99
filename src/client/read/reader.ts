import type { Client } from '@temporalio/client';
import type { ApprovalView } from '../../core/domain/approvals.ts';
import { errorCode, LonghaulError } from '../../core/domain/errors.ts';
import type { Event } from '../../core/domain/record.ts';
import type { StepResult } from '../../core/domain/tool-calls.ts';
import type { RunResultFields } from '../../core/domain/result.ts';
import { isTerminal, type RunStatus } from '../../core/domain/run.ts';
import { agentTrace, type AgentTraceHeader } from '../../core/domain/agent-trace.ts';
import { ExecutionTrace } from '../../core/domain/trace.ts';
import { assembleTrace, type TraceEntry, traceOf, type TracePage } from '../../core/program/trace.ts';
import { type ContextPage, QUERIES, type StatusView, type StepsPage } from '../../core/protocol.ts';
import { type ReadBackRun, readExecution, readRun } from '../../history/read-run.ts';
import { inBatches } from '../../temporal/in-batches.ts';
import { withNewest } from '../start/missing-things.ts';
import { queryApprovals, type RunApprovals } from './approvals.ts';
import { type NewestExecution, RunChain } from './chain.ts';
import { answers, followEvents, type FollowOptions } from './follow-events.ts';
import { queryRun } from './query-run.ts';
import { approvalsFrom, contextFrom, statusFrom, statusOf } from './views.ts';

/**
 * Reads a run: the newest execution by query if a worker answers, and everything else from history, across all executions
 * of the run.
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
    const [execution, view] = await Promise.all([this.chain.newest(), queryRun<StatusView>(this.#client, this.#runId, QUERIES.status)]);
    const status = view === undefined ? statusFrom(this.#runId, execution, await this.#newest()) : asEnded(view, execution);
    const { missing: reported = [], ...known } = status;
    if (execution.closed) return { ...known, waitingFor: [] };
    const missing = withNewest(reported, execution.missing);
    return {
      ...known,
      ...(missing.length === 0 ? {} : { missing }),
      ...(execution.running.length === 0 ? {} : { running: execution.running }),
    };
  }

  /** Returns the pending approvals of the run and of all runs below it, each with the run that waits, and the remembered decisions. */
  async approvals(): Promise<RunApprovals> {
    const [execution, answer] = await Promise.all([this.chain.newest(), queryApprovals(this.#client, this.#runId)]);
    const own = answer === undefined ? approvalsFrom(this.#runId, execution, await this.#newest()) : asEnded(answer, execution);
    const { children = [], ...approvals } = own;
    if (execution.closed) return { ...approvals, pending: [] };
    const ofChildren = await approvalsOfChildren(children, (runId) => new RunReader(this.#client, runId).approvals());
    const ofRun = approvals.pending.map((waiting) => ({ ...waiting, runId: this.#runId }));
    return { ...approvals, pending: [...ofRun, ...ofChildren] };
  }

  /** Returns the ExecutionContext with a page of events. Throws `history_removed` if the page would begin with removed events. */
  async context(from: number): Promise<ContextPage> {
    const [execution, page] = await Promise.all([this.chain.newest(), this.#page(from)]);
    const newest = asEnded(page ?? contextFrom(this.#runId, await this.#newest(), from), execution);
    if (answers(newest, from)) return newest;
    for await (const events of this.#history(from, page)) return { ...newest, from, events };
    return newest;
  }

  /** Returns the deps and the state of the run as they are now. */
  async data(): Promise<Pick<ContextPage, 'deps' | 'state'>> {
    return (await this.#page(Number.MAX_SAFE_INTEGER)) ?? contextFrom(this.#runId, await this.#newest(), Number.MAX_SAFE_INTEGER);
  }

  /** Yields the events from an offset on. Throws `history_removed` if the server has removed the event at that offset. */
  events(options: FollowOptions): AsyncGenerator<Event> {
    const source = {
      page: (from: number) => this.#page(from),
      recorded: (from: number, answer: ContextPage | undefined) => this.#history(from, answer),
      closed: async () => (await this.chain.newest()).closed,
    };
    return followEvents(source, options);
  }

  /** Yields all events that the server still has, from history. */
  async *eventsLeft(): AsyncGenerator<Event> {
    for await (const { events } of readRun(this.#client, this.#runId, this.chain)) yield* events;
  }

  /** Returns the trace of the run so far. */
  async trace(): Promise<ExecutionTrace> {
    return readTrace({
      page: (from) => queryRun<TracePage>(this.#client, this.#runId, QUERIES.trace, { from }),
      events: () => this.events({}),
      steps: () => this.steps(),
      newest: () => this.#newest(),
    });
  }

  /** Returns all steps that are left. */
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
    const steps: StepResult[] = [];
    for await (const read of readRun(this.#client, this.#runId, this.chain, { fromStep: from })) {
      steps.push(...read.steps.filter(({ step }) => step > from));
    }
    return steps;
  }

  /** Returns the result as the loop returned it, with an output of any size. Undefined if history does not have it. */
  async recordedResult(): Promise<RunResultFields | undefined> {
    return (await this.#newest()).result;
  }

  /** Returns the newest execution as its history has it. Throws `run_not_found`, and `history_removed` if the server has removed it. */
  async recordedRun(): Promise<ReadBackRun> {
    return this.#newest();
  }

  async #page(from: number): Promise<ContextPage | undefined> {
    return queryRun<ContextPage>(this.#client, this.#runId, QUERIES.context, { from });
  }

  /**
   * Yields the events that the answer of the newest execution lacks, by execution: those of the executions before, or the one
   * that is too large for an answer. Without an answer, all events from the offset on.
   */
  async *#history(from: number, answer: ContextPage | undefined): AsyncGenerator<Event[]> {
    let offset = from;
    const untilOffset = answer !== undefined && from < answer.firstOffset ? answer.firstOffset : Infinity;
    for await (const read of readRun(this.#client, this.#runId, this.chain, { fromOffset: from, untilOffset })) {
      if (read.firstOffset > offset) throw removed(this.#runId, offset, read.firstOffset);
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

  async #newest(): Promise<ReadBackRun> {
    const { executionId } = await this.chain.newest();
    const read = await readExecution(this.#client, this.#runId, executionId);
    if (read !== undefined) return read.run;
    throw new LonghaulError('history_removed', `The server has removed the newest execution of run "${this.#runId}"`);
  }
}

/** Sets the status of a run that was ended from outside: its own answer still has the status at that moment. */
function asEnded<View extends { status: RunStatus }>(view: View, { closed, status }: NewestExecution): View {
  return closed && !isTerminal(view.status) ? { ...view, status: statusOf(status) } : view;
}

function removed(runId: string, from: number, through: number): LonghaulError {
  return new LonghaulError(
    'history_removed',
    `Events ${from} to ${through - 1} of run "${runId}" are gone: the server has removed their execution (retention). ` +
      `Read from offset ${through} on, or export the run with its archive`,
  );
}

/** Children that are queried at once. */
const ASKED_AT_ONCE = 10;

/** Returns the pending approvals of children, each with the run that waits: the child, or a run below it. */
async function approvalsOfChildren(
  children: readonly string[],
  approvals: (runId: string) => Promise<RunApprovals>,
): Promise<ApprovalView[]> {
  const listed = await Array.fromAsync(inBatches(children, ASKED_AT_ONCE, (runId) => ofChild(runId, approvals)));
  return listed.flat();
}

async function ofChild(runId: string, approvals: (runId: string) => Promise<RunApprovals>): Promise<ApprovalView[]> {
  try {
    const { pending, about } = await approvals(runId);
    return pending.map((waiting) => ({ about, ...waiting, runId: waiting.runId ?? runId }));
  } catch (error) {
    // It has not started yet, or was deleted.
    if (errorCode(error) === 'run_not_found') return [];
    throw error;
  }
}

/** The sources that `readTrace` reads from. */
interface TraceSource {
  /** Returns the answer of the run's newest execution; undefined if no worker answers. */
  page: (from: number) => Promise<TracePage | undefined>;
  /** Yields all events of the run. */
  events: () => AsyncGenerator<Event>;
  /** Returns all steps of the run. */
  steps: () => Promise<StepResult[]>;
  /** Reads the newest execution from history. */
  newest: () => Promise<ReadBackRun>;
}

/** Returns the trace of a run: of a program by query as long as one execution has all of it, otherwise from the events. */
async function readTrace(source: TraceSource): Promise<ExecutionTrace> {
  return (await queriedTrace(source)) ?? recordedTrace(source);
}

async function queriedTrace(source: TraceSource): Promise<ExecutionTrace | undefined> {
  const entries: TraceEntry[] = [];
  for (let from = 0; ;) {
    const answer = await source.page(from);
    if (answer?.model !== undefined) {
      const { programName: agentName, startTime, model } = answer;
      return traceOfAgent(source, { agentName, model, startTime });
    }
    if (answer === undefined || answer.firstOffset > 0) return undefined;
    entries.push(...answer.entries);
    if (answer.next >= answer.total) return assembleTrace(answer, entries);
    from = answer.next;
  }
}

async function recordedTrace(source: TraceSource): Promise<ExecutionTrace> {
  const { agentName, startedAt, state } = await source.newest();
  const startTime = startedAt / 1000;
  if (state === undefined) return new ExecutionTrace({ programName: agentName, backendName: '', startTime, spans: [] });
  if (state.program === undefined) return traceOfAgent(source, { agentName, model: state.snapshot.model, startTime });
  return traceOf(state.program.document, await allEvents(source));
}

/** The events come first: a call that has ended meanwhile has a step, and is open in the events. */
async function traceOfAgent(source: TraceSource, header: AgentTraceHeader): Promise<ExecutionTrace> {
  const events = await allEvents(source);
  return agentTrace(header, { events, steps: await source.steps() });
}

async function allEvents({ events }: TraceSource): Promise<Event[]> {
  const recorded: Event[] = [];
  for await (const event of events()) recorded.push(event);
  return recorded;
}
