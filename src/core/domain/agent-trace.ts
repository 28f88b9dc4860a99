import { partsOfModelName } from './model.ts';
import { type ContentItem, isToolCall, type ToolCall, writtenText } from './content.ts';
import { defined, type JsonObject } from './json.ts';
import type { Event } from './record.ts';
import { secondsOf } from './time.ts';
import type { StepResult, ToolCallRecord } from './tool-calls.ts';
import { type EventPlace, ExecutionTrace, traceEvent, Tracer, type TraceSpan } from './trace.ts';

/** The data of a trace that is not in the record of a run. Times are in seconds since the epoch. */
export interface AgentTraceHeader {
  agentName: string;
  /** `provider/model`. */
  model: string;
  startTime: number;
}

interface AgentRecord {
  events: readonly Event[];
  steps: readonly StepResult[];
}

/**
 * Returns the trace of an agent's run: a span for each step, containing spans for each model call, tool call and wait for a decision. A
 * model call begins with the previous event and ends with its answer. Summaries and calls without an answer have spans outside of the
 * steps. A call without a result has an open span.
 */
export function agentTrace({ agentName, model, startTime }: AgentTraceHeader, { events, steps }: AgentRecord): ExecutionTrace {
  const { provider: backendName } = partsOfModelName(model);
  const builder = new AgentTracer(startTime, steps);
  for (const event of events) builder.add(event);
  const last = events.at(-1);
  const spans = builder.finish();
  return new ExecutionTrace({
    programName: agentName,
    backendName,
    startTime,
    spans,
    ...(last === undefined ? {} : { endTime: secondsOf(last.timestamp) }),
  });
}

/** A call that is in progress. */
interface OpenCall {
  call: ToolCall;
  /** The beginning of the call, or the decision that released it. */
  at: number;
  step: TraceSpan;
}

class AgentTracer {
  readonly #tracer = new Tracer();
  readonly #records: ReadonlyMap<string, ToolCallRecord>;
  readonly #calls = new Map<string, OpenCall>();
  /** The time of the previous event. */
  #before: number;
  #step: TraceSpan | undefined;
  #count = 0;

  constructor(startTime: number, steps: readonly StepResult[]) {
    this.#before = startTime;
    this.#records = new Map(steps.flatMap(({ toolCalls }) => toolCalls.map((record) => [record.callId, record])));
  }

  add(event: Event): void {
    const { timestamp, given, decision, content } = event;
    const at = secondsOf(timestamp);
    // The initial conversation is older than the run.
    if (given) return;
    if (decision !== undefined) this.#decided(decision, at);
    else if (isModelCall(event)) this.#modelCall(event, at);
    for (const item of content) this.#item(item, at);
    this.#before = at;
  }

  /** Returns the spans. Calls without a result stay open, and so do their steps. */
  finish(): TraceSpan[] {
    for (const { call, at, step } of this.#calls.values()) {
      this.#tracer.start({ name: `tool:${call.name}`, at, metadata: { call_id: call.toolCallId } }, step);
      delete step.endTime;
    }
    return this.#tracer.spans;
  }

  /** Adds the span of a model call, in a new step if the model has answered. */
  #modelCall(event: Event, at: number): void {
    const { interrupted, failed, compaction, title } = event;
    if (compaction !== undefined || title !== undefined || interrupted || failed !== undefined) {
      const why = compaction === undefined ? (title === undefined ? 'model' : 'title') : 'compaction';
      this.#closed(why, { from: this.#before, to: at }, { ...modelData(event), ...defined({ error: failed?.code }) });
      return;
    }
    this.#count += 1;
    const name = String(this.#count);
    const place = (time: number): EventPlace => ({ step: name, at: time });
    const step = this.#tracer.start({ name: `step:${name}`, at: this.#before, metadata: { agent: event.author } }, null);
    this.#step = step;
    const model = this.#closed('model', { from: this.#before, to: at }, {}, step);
    this.#tracer.emit(traceEvent('step_start', place(this.#before)), step);
    this.#tracer.emit(traceEvent('model_call', place(this.#before)), model);
    this.#tracer.emit(traceEvent('model_response', place(at), modelData(event), (at - this.#before) * 1_000), model);
    this.#extend(step, at);
  }

  #item(item: ContentItem, at: number): void {
    if (isToolCall(item) && this.#step !== undefined) this.#calls.set(item.toolCallId, { call: item, at, step: this.#step });
    if (item.type !== 'tool_result') return;
    const open = this.#calls.get(item.toolCallId);
    if (open === undefined) return;
    this.#calls.delete(item.toolCallId);
    const { durationMs = null, childRunId, caller } = this.#records.get(item.toolCallId) ?? {};
    const to = durationMs === null ? at : Math.min(at, open.at + durationMs / 1_000);
    const metadata = {
      call_id: item.toolCallId,
      status: item.status,
      ...defined({ caller, child: childRunId }),
    };
    this.#closed(`tool:${item.name}`, { from: open.at, to }, metadata, open.step);
    this.#extend(open.step, at);
  }

  #decided({ callId, toolName, type, source }: NonNullable<Event['decision']>, at: number): void {
    const open = this.#calls.get(callId);
    const from = open?.at ?? this.#before;
    this.#closed(`wait:${toolName}`, { from, to: at }, { call_id: callId, decision: type, source }, open?.step ?? null);
    if (open === undefined) return;
    open.at = at;
    this.#extend(open.step, at);
  }

  #closed(name: string, { from, to }: { from: number; to: number }, metadata: JsonObject, inside: TraceSpan | null = null): TraceSpan {
    const span = this.#tracer.start({ name, at: from, metadata }, inside);
    this.#tracer.end(to, {}, span);
    return span;
  }

  /** Extends a step to the time of its newest part. */
  #extend(step: TraceSpan, at: number): void {
    this.#tracer.end(at, {}, step);
    step.endTime = Math.max(step.endTime ?? at, at);
  }
}

/** True for the event of a model call: an answer or partial answer, a summary, or the cost of a failed call. */
function isModelCall({ usage, failed, interrupted, caller }: Event): boolean {
  return caller === undefined && (usage !== undefined || failed !== undefined || interrupted === true);
}

function modelData({ content, usage, answeredBy, estimated, interrupted }: Event): JsonObject {
  const text = content.map((item) => (item.type === 'message' ? writtenText(item.content) : '')).join('');
  const calls = content.filter(isToolCall).map(({ name }) => name);
  const tokens = usage?.totalTokens ?? estimated?.totalTokens;
  return {
    content_length: text.length,
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
    ...defined({ tokens, model: answeredBy }),
    ...(interrupted ? { interrupted } : {}),
  };
}
