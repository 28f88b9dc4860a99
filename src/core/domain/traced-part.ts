import { isToolCall } from './content.ts';
import { defined } from './defined.ts';
import type { Event } from './record.ts';
import type { RunResultFields } from './result.ts';
import type { StopReason, TerminalStatus } from './run.ts';
import type { StepResult } from './tool-calls.ts';
import type { AggregatedUsage } from './usage.ts';

/** Something that a run has waited for or done, from its beginning to its end. Milliseconds since the epoch. */
interface Lasting {
  from: number;
  to: number;
}

/** A wait for a decision about a call. */
export interface TracedWait extends Lasting {
  /** The id of the decision. */
  id: string;
  callId: string;
  toolName: string;
  decision: string;
  source: string;
}

/** A call, or a step of a program, that a child has answered. */
export interface TracedChild extends Lasting {
  childRunId: string;
  /** The id of the call, or the address of the step. */
  callId: string;
  /** Absent: a step of a program. */
  toolName?: string;
  /** The child is kept, and an earlier call has started it. */
  isLater?: true;
  isError: boolean;
}

/** A turn of a session. */
export interface TracedTurn extends Lasting {
  number: number;
  status: TerminalStatus;
  stopReason: StopReason;
}

/** The end of a run. */
export interface TracedEnd extends Lasting {
  status: TerminalStatus;
  stopReason: StopReason;
  errorCode?: string;
  /** The run is that of a program. */
  isWorkflow: boolean;
  usage: AggregatedUsage;
  steps: number;
  toolCalls: number;
}

/** The part of a run's record that its trace shows beside its model calls and tool calls. Without content. */
export interface TracedPart {
  agentName: string;
  waits: TracedWait[];
  children: TracedChild[];
  turns: TracedTurn[];
  /** Absent: the run goes on. */
  end?: TracedEnd;
}

/** A stretch of the record of a run: that of one execution, or of all. */
export interface RecordedPart {
  agentName: string;
  /** Offset of the first event. */
  firstOffset: number;
  events: readonly Event[];
  steps: readonly StepResult[];
  /** The result, if the run has ended. */
  result?: RunResultFields<unknown> | undefined;
}

/**
 * Returns what the trace of a run shows of a part of its record. What began before the part is left out: only the whole record knows when
 * it did, and a span must be the same whoever reports it.
 */
export function tracedPart({ agentName, firstOffset, events, steps, result }: RecordedPart): TracedPart {
  const calls = new Map<string, { at: number; place: string }>();
  const waits: TracedWait[] = [];
  const turns: TracedTurn[] = [];
  const children: TracedChild[] = [];
  // The first turn of the part may have begun before it.
  let turnBegan: number | undefined;
  let isBetween = firstOffset === 0;
  for (const [index, event] of events.entries()) {
    const { content, decision, given, step, turn, timestamp } = event;
    if (given) continue;
    const to = Date.parse(timestamp);
    if (isBetween) turnBegan = to;
    isBetween = turn !== undefined;
    for (const [place, item] of content.entries()) {
      if (isToolCall(item)) calls.set(item.toolCallId, { at: to, place: `.${firstOffset + index}.${place}` });
    }
    const call = decision && calls.get(decision.callId);
    if (decision !== undefined && call !== undefined && decision.source !== 'remembered') {
      const { id, callId, toolName, type, source } = decision;
      waits.push({ id, callId, toolName, decision: type, source, from: call.at, to });
    }
    if (turn !== undefined) {
      const { number, status, stopReason } = turn;
      if (turnBegan !== undefined) turns.push({ number, status, stopReason, from: turnBegan, to });
    }
    if (step?.child !== undefined && step.startedAt !== undefined && step.type === 'attempt') {
      children.push({
        childRunId: step.child,
        callId: step.at,
        isError: step.error !== undefined,
        from: Date.parse(step.startedAt),
        to,
      });
    }
  }
  for (const { toolCalls } of steps) {
    for (const { callId, toolName, childRunId, durationMs, timestamp, isError } of toolCalls) {
      const call = calls.get(callId);
      if (childRunId === undefined || call === undefined || durationMs === null) continue;
      const to = Date.parse(timestamp);
      // The id of a child ends with the position of the call that has started it, and random characters.
      const isFirst = childRunId.slice(0, childRunId.lastIndexOf('.')).endsWith(call.place);
      const isLater = isFirst ? {} : { isLater: true as const };
      children.push({ childRunId, callId, toolName, isError, from: Math.round(to - durationMs), to, ...isLater });
    }
  }
  return { agentName, waits, children, turns, ...(result === undefined ? {} : { end: endOf(result) }) };
}

function endOf({ startTime, endTime, ...result }: RunResultFields<unknown>): TracedEnd {
  const { status, stopReason, errorCode, units, usage, stepsUsed, toolCallsTotal } = result;
  const to = Date.parse(endTime ?? '') || 0;
  return {
    status,
    stopReason,
    ...defined({ errorCode }),
    isWorkflow: units !== undefined,
    usage,
    steps: stepsUsed,
    toolCalls: toolCallsTotal,
    from: Date.parse(startTime ?? '') || to,
    to,
  };
}
