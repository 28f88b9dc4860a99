import type { ProgramDocument } from '../../domain/program-document.ts';
import type { Event } from '../../domain/record.ts';
import { ExecutionTrace, Tracer, type TraceSpan } from '../../domain/trace.ts';
import { type TraceEntry, traceEntries } from './trace-entry.ts';
import { type TraceHeader, traceNames } from './trace-header.ts';
import { secondsOf } from '../../domain/time.ts';

/** Returns the trace of a program by the events of its run. Spans that have not ended end with the newest event. */
export function traceOf(document: ProgramDocument, events: readonly Event[]): ExecutionTrace {
  const [first] = events;
  const last = events.at(-1);
  const entries = events.flatMap((event) => traceEntries(document, event));
  const header = { ...traceNames(document), startTime: first === undefined ? 0 : secondsOf(first.timestamp) };
  return assembleTrace(last === undefined ? header : { ...header, endTime: secondsOf(last.timestamp) }, entries);
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
