import type { ProgramDocument } from '../../domain/program/document.ts';
import { modelsOf } from '../../domain/program/all-steps.ts';
import type { Event } from '../../domain/record/event.ts';
import { ExecutionTrace } from './execution-trace.ts';
import { type TraceEntry, traceEntries } from './trace-entry.ts';
import { Tracer, type TraceSpan } from './tracer.ts';

/** The part of a trace that no event tells. Times are in seconds since the epoch. */
export interface TraceHeader {
  programName: string;
  /** The provider of the program's model; empty for a program without model calls. */
  backendName: string;
  startTime: number;
  /** The time of the newest event. Absent if there is none. */
  endTime?: number;
}

/** Returns the names that the trace of a program begins with. */
export function traceNames(document: ProgramDocument): Pick<TraceHeader, 'programName' | 'backendName'> {
  const [model = ''] = [document.model, ...modelsOf(document)].filter((one) => one !== undefined && one !== '');
  return { programName: document.name, backendName: model.slice(0, Math.max(0, model.indexOf('/'))) };
}

/** Returns the trace of a program by the events of its run. Spans that have not ended end with the newest event. */
export function traceOf(document: ProgramDocument, events: readonly Event[]): ExecutionTrace {
  const [first] = events;
  const last = events.at(-1);
  const entries = events.flatMap((event) => traceEntries(document, event));
  const header = { ...traceNames(document), startTime: first?.timestamp ?? 0 };
  return assembleTrace(last === undefined ? header : { ...header, endTime: last.timestamp }, entries);
}

/** Assembles a trace from its lines. Lines of a span whose beginning is not among them are dropped. */
export function assembleTrace(header: TraceHeader, entries: readonly TraceEntry[]): ExecutionTrace {
  const tracer = new Tracer();
  const spans = new Map<string, TraceSpan>();
  for (const entry of entries) {
    const span = spans.get(entry.span);
    if (entry.type === 'start') {
      const inside = entry.inside === undefined ? undefined : spans.get(entry.inside);
      spans.set(entry.span, tracer.start(entry, inside ?? null));
    } else if (span !== undefined && entry.type === 'event') tracer.emit(entry.event, span);
    else if (span !== undefined && entry.type === 'end') tracer.end(entry.at, entry.metadata, span);
  }
  return new ExecutionTrace({ ...header, spans: tracer.finalize(header.endTime ?? header.startTime) });
}
