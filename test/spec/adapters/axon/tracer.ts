import { isJsonObject, type JsonObject, type JsonValue } from '../../../../src/core/domain/json.ts';
import {
  ExecutionTrace,
  isTraceEventType,
  TRACE_EVENT_TYPES,
  traceEvent,
  Tracer,
  type TraceSpan,
} from '../../../../src/core/domain/trace.ts';
import type { Operation } from '../adapter.ts';
import { CaseProblem, list, only, text } from '../fields.ts';

/** The operations on traces. */
export const axonTracerOperations: Readonly<Record<string, Operation>> = {
  'tracer.event_types': { input: [], expect: ['types'], perform: () => ({ types: [...TRACE_EVENT_TYPES] }) },
  'tracer.spans': { input: ['do'], expect: ['tree', 'total_events', 'all_closed'], perform: spans },
};

function spans({ do: actions }: JsonObject, expect: JsonValue): unknown {
  const tracer = new Tracer();
  for (const [at, action] of list(actions).entries()) perform(tracer, action, at + 1);
  const trace = new ExecutionTrace({ programName: '', backendName: '', startTime: 0, spans: tracer.finalize(list(actions).length + 1) });
  const tree = trace.spans.map(shown);
  // A case writes one span by itself, or the list of all.
  const isOne = isJsonObject(expect) && isJsonObject(expect['tree']) && tree.length === 1;
  return { tree: isOne ? tree[0] : tree, total_events: trace.totalEvents, all_closed: trace.spans.every(isClosed) };
}

function perform(tracer: Tracer, action: JsonValue, at: number): void {
  const { start, emit, end } = only('An action', action, ['start', 'emit', 'end']);
  if (start !== undefined) tracer.start({ name: text(start), at });
  else if (emit !== undefined) tracer.emit(eventOf(text(emit), at));
  else if (end === true) tracer.end(at);
  else throw new CaseProblem('An action does nothing');
}

function eventOf(type: string, at: number): ReturnType<typeof traceEvent> {
  if (isTraceEventType(type)) return traceEvent(type, { step: '', at });
  throw new CaseProblem(`There are no events of the type ${JSON.stringify(type)}`);
}

function isClosed({ endTime, children }: TraceSpan): boolean {
  return endTime !== undefined && children.every(isClosed);
}

function shown({ name, events, children }: TraceSpan): JsonObject {
  return { name, events: events.map((event) => event.event_type), children: children.map(shown) };
}
