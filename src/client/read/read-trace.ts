import type { Event } from '../../core/domain/record/event.ts';
import { LonghaulError } from '../../core/domain/errors/error.ts';
import { ExecutionTrace } from '../../core/program/trace/execution-trace.ts';
import type { TraceEntry } from '../../core/program/trace/trace-entry.ts';
import { assembleTrace, traceOf } from '../../core/program/trace/trace-of.ts';
import type { TracePage } from '../../core/program/trace/trace-page.ts';
import type { ReadBackRun } from '../../history/read-back.ts';

/** The sources that `readTrace` reads from. */
export interface TraceSource {
  runId: string;
  /** Returns the answer of the run's newest execution; undefined if no worker answers. */
  page: (from: number) => Promise<TracePage | undefined>;
  /** Yields all events of the run. */
  events: () => AsyncGenerator<Event>;
  /** Reads the newest execution from history. */
  newest: () => Promise<ReadBackRun>;
}

/** Returns the trace of a program: by query as long as one execution has all of it, otherwise from the events. */
export async function readTrace(source: TraceSource): Promise<ExecutionTrace> {
  return (await queriedTrace(source)) ?? recordedTrace(source);
}

async function queriedTrace({ page }: TraceSource): Promise<ExecutionTrace | undefined> {
  const entries: TraceEntry[] = [];
  for (let from = 0; ;) {
    const answer = await page(from);
    if (answer === undefined || answer.firstOffset > 0) return undefined;
    entries.push(...answer.entries);
    if (answer.next >= answer.total) return assembleTrace(answer, entries);
    from = answer.next;
  }
}

async function recordedTrace({ runId, events, newest }: TraceSource): Promise<ExecutionTrace> {
  const { agentName, startedAt, state } = await newest();
  if (state === undefined) return new ExecutionTrace({ programName: agentName, backendName: '', startTime: startedAt / 1000, spans: [] });
  if (state.program === undefined) throw new LonghaulError('invalid_input', `Run "${runId}" is that of an agent: it has no trace`);
  const recorded: Event[] = [];
  for await (const event of events()) recorded.push(event);
  return traceOf(state.program.document, recorded);
}
