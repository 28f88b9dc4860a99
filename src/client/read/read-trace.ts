import type { Event } from '../../core/domain/record/event.ts';
import type { StepResult } from '../../core/domain/record/step.ts';
import { agentTrace, type AgentTraceHeader } from '../../core/domain/trace/agent-trace.ts';
import { ExecutionTrace } from '../../core/domain/trace/execution-trace.ts';
import type { TraceEntry } from '../../core/program/trace/trace-entry.ts';
import { assembleTrace, traceOf } from '../../core/program/trace/trace-of.ts';
import type { TracePage } from '../../core/program/trace/trace-page.ts';
import type { ReadBackRun } from '../../history/read-back.ts';

/** The sources that `readTrace` reads from. */
export interface TraceSource {
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
export async function readTrace(source: TraceSource): Promise<ExecutionTrace> {
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
