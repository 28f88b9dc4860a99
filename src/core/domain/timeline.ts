import * as s from './shape.ts';

/**
 * What a span is: a model call, a tool call (also a cell of code), an activity of Longhaul itself, a workflow task, the wait for a person, or
 * a child run.
 */
const SPAN_KIND = s.oneOf('model', 'tool', 'own', 'task', 'person', 'child');

/** What the time of a span was spent on. @useDeclaredType */
export type SpanKind = s.ValueOf<typeof SPAN_KIND>;

const FAILED_ATTEMPT = s.object({
  /** 1-based. */
  attempt: s.NUMBER,
  /** The code of the error. Absent if the failure has none, such as a timeout of the server. */
  code: s.optional(s.TEXT),
  message: s.TEXT,
});

const SPAN_MEMBERS = {
  /** The same whenever the timeline is read. */
  id: s.TEXT,
  /** A model call, a tool call (also a cell of code), an activity of Longhaul itself, a workflow task, the wait for a person, or a child run. */
  kind: SPAN_KIND,
  /** The name of the tool, the activity or the child run; `message` for the wait of a session for its next message. */
  name: s.TEXT,
  /** The number of events that the run had recorded when it began. */
  offset: s.NUMBER,
  /** The moment at which it was requested, ISO 8601. */
  from: s.TIMESTAMP,
  /** Absent: it has not ended. */
  to: s.optional(s.TIMESTAMP),
  /** Milliseconds until a worker took its only attempt. Absent for what no worker takes, and if there were further attempts. */
  queueMs: s.optional(s.NUMBER),
  /** Milliseconds of earlier attempts, with the pauses between them and the waits for a worker: the server keeps their sum alone. */
  retryMs: s.optional(s.NUMBER),
  /** Milliseconds of the last attempt, or of the wait. Absent while it continues. */
  runMs: s.optional(s.NUMBER),
  /** The number of attempts. Absent for what has none, and before the first has ended. */
  attempts: s.optional(s.NUMBER),
  /** The failures that the server keeps: of the last attempt, and of the one before it. */
  failures: s.optional(s.listOf(FAILED_ATTEMPT)),
  /** How it ended, unless it succeeded. */
  ended: s.optional(s.oneOf('failed', 'cancelled', 'timed_out', 'terminated')),
  /** The step that it belongs to. 1-based. */
  step: s.optional(s.NUMBER),
  /** The id of the tool call that it belongs to. Absent if it belongs to none. */
  callId: s.optional(s.TEXT),
  /** The run id of the child. Absent unless the span is a child run. */
  childRunId: s.optional(s.TEXT),
  /** For a wait: the decision that ended it. */
  decision: s.optional(s.TEXT),
};

/** A stretch of the time of a run. */
export interface TimelineSpan extends s.ObjectOf<typeof SPAN_MEMBERS> {}
export const TIMELINE_SPAN: s.Shape<TimelineSpan> = s.object(SPAN_MEMBERS);

const MS_MEMBERS = {
  /** Milliseconds in model calls. */
  model: s.NUMBER,
  /** Milliseconds in tool calls, those of code included. */
  tool: s.NUMBER,
  /** Milliseconds in activities of Longhaul itself. */
  own: s.NUMBER,
  /** Milliseconds in workflow tasks. */
  task: s.NUMBER,
  /** Milliseconds of waits for a person. */
  person: s.NUMBER,
  /** Milliseconds in child runs. */
  child: s.NUMBER,
  /** The waits for a worker of all of them. */
  queue: s.NUMBER,
  /** The earlier attempts of all of them. */
  retry: s.NUMBER,
};

/** Milliseconds by kind: those of spans that have ended. Spans overlap, so the sum may be more than the time of the run. */
export interface TimeByKind extends s.ObjectOf<typeof MS_MEMBERS> {}

const TIMELINE_MEMBERS = {
  /** The id of the run. */
  runId: s.TEXT,
  /** The offset of the page: spans that began with fewer events are on pages before. */
  from: s.NUMBER,
  /** The spans of the page, in the order in which they began. */
  spans: s.listOf(TIMELINE_SPAN),
  /** The sums of the page: those of all pages add up. */
  ms: s.shape<TimeByKind>(s.object(MS_MEMBERS)),
  /** The offset of the next page. Absent on the last one. */
  next: s.optional(s.NUMBER),
};

/** A page of the timeline of a run, the spans in the order in which they began. */
export interface RunTimeline extends s.ObjectOf<typeof TIMELINE_MEMBERS> {}
export const RUN_TIMELINE: s.Shape<RunTimeline> = s.object(TIMELINE_MEMBERS);

/** Adds up the time of spans by their kinds. */
export function timeByKind(spans: readonly TimelineSpan[]): TimeByKind {
  const ms: TimeByKind = { model: 0, tool: 0, own: 0, task: 0, person: 0, child: 0, queue: 0, retry: 0 };
  for (const { kind, queueMs = 0, retryMs = 0, runMs = 0 } of spans) {
    ms[kind] += runMs;
    ms.queue += queueMs;
    ms.retry += retryMs;
  }
  return ms;
}
