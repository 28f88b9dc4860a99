import type { Decision } from './approvals.ts';
import { isToolCall } from './content.ts';
import { defined } from './json.ts';
import type { Event } from './record.ts';
import type { RunResultFields } from './result.ts';
import type { StopReason, TerminalStatus } from './run.ts';
import type { TurnResultFields } from './sessions.ts';
import { cellOfCall, RUN_CODE, type StepResult } from './tool-calls.ts';
import type { AggregatedUsage, UsageStats } from './usage.ts';

/** A wait or an operation of a run, from its beginning to its end, in milliseconds since the epoch. */
interface Lasting {
  from: number;
  to: number;
}

/** The same in a session. */
interface InTurn extends Lasting {
  /** The agent that made the call. */
  agent: string;
  /** The turn of a session in which it ended. */
  turn?: number;
}

/** The part of calls that code may have made: they are then below their cell. */
interface OfCode {
  /** The id of the `run_code` call whose cell made the call. Absent: the model made it. */
  cell?: string;
}

/** A cell of code, from the answer with its `run_code` call to its result, with all calls that it made. */
export interface TracedCell extends InTurn {
  callId: string;
  isError: boolean;
}

/**
 * What has ended a wait for a decision: the decision, a message that abandoned the call, or the end of the run or the turn, by its stop
 * reason, or by the server.
 */
export type WaitOutcome = Decision['type'] | 'message' | TracedEnd['stopReason'];

/** A wait for a decision about a call. */
export interface TracedWait extends InTurn, OfCode {
  callId: string;
  toolName: string;
  outcome: WaitOutcome;
  /** The id of the decision and where it came from. Absent: the wait has ended without one. */
  decision?: { id: string; source: Decision['source'] };
}

/** A call or a program's step that a child answered. */
export interface TracedChild extends InTurn, OfCode {
  childRunId: string;
  /** The id of the call, or the address of the step. */
  callId: string;
  /** Absent: a program's step. */
  toolName?: string;
  /** The child is kept, and an earlier call started it. */
  isLater?: true;
  isError: boolean;
}

/** The end of a run or a turn. */
export interface TracedEnd extends Lasting {
  agent: string;
  /** `terminated`, `timed_out`: by the server; the run itself has not recorded it. */
  status: TerminalStatus | 'terminated' | 'timed_out';
  stopReason: StopReason | 'terminated' | 'timed_out';
  errorCode?: string;
  /** The run executes a program. */
  isWorkflow: boolean;
  /** The run is a flow. */
  isFlow?: true;
  /** The run is a session, whose turns have their own ends. */
  isSession?: true;
  usage: AggregatedUsage;
  steps: number;
  toolCalls: number;
}

/** An ended turn of a session. */
export interface TracedTurn extends TracedEnd {
  number: number;
}

/** An attempt at a call. */
interface TracedAttempt extends InTurn, OfCode {
  /** The id of a tool call, the number of events of a step's model call, or the name of another activity. */
  call: string;
  /** Absent: a model call. */
  toolName?: string;
  /** `provider/model` of a model call. */
  model?: string;
  step?: number;
  /**
   * Temporal's id of the activity that made the attempt. Empty for a local one. Several activities may make a call, and each counts its own
   * attempts: when a burst leaves a call to its run, its batch has not answered it, a larger model is asked, or another worker makes it.
   */
  activity: string;
  attempt: number;
  /** The number of times that the activity, or a batch, had completed a call with the same name before. Absent: none. */
  earlier?: number;
  /** When the worker received a local call, by the worker's clock: the id of the attempt's span depends on it. */
  localAt?: number;
}

/**
 * An attempt whose worker stopped responding: the next attempt reports it, or the reader of the record. The model is the first that it
 * asks.
 */
export type TracedLoss = TracedAttempt;

/**
 * The attempt that ended a call. Its worker reports it, but may be killed before: the record has the same, with the times when the server
 * learned of it.
 */
export interface TracedCall extends TracedAttempt {
  /** The place of the model among those asked by the attempt. 1-based. */
  asked?: number;
  /** A code, or the reason why a tool failed. Absent: success. */
  code?: string;
  usage?: UsageStats | null;
  finishReason?: string;
}

/**
 * Returns the beginning of a lost attempt, derived only from data that everyone who reports it has. For later attempts nobody knows it: the
 * span then has only its end.
 */
export function beginningOfLoss({ attempt, scheduledAt, to }: { attempt: number; scheduledAt: number; to: number }): number {
  return attempt === 1 ? Math.min(scheduledAt, to) : to;
}

/** The data that determines a run's place in its trace, known when the run begins. */
export interface TracedBeginning {
  /** The key of a run inside a user's workflow, or empty. */
  key: string;
  traceparent?: string;
  /** The run is a session of callers or of its parent. */
  isSession?: true;
  /** It is below a call of its parent. */
  isChild?: true;
}

/** The part of a run's record that its trace shows in addition to model calls and tool calls. Without content. */
export interface TracedPart {
  waits: TracedWait[];
  children: TracedChild[];
  turns: TracedTurn[];
  /** Absent: none. */
  cells?: TracedCell[];
  /** The models of the answers whose provider had lost its cached prompt. */
  cachesLost?: string[];
  /** Present if the histories of the run were read. */
  losses?: TracedLoss[];
  /** Likewise: the last attempts of ended calls, as far as the histories have them. */
  calls?: TracedCall[];
  /** Absent: the run continues. */
  end?: TracedEnd;
}

/** A part of a run's record: a turn, an execution, or all of it. */
interface RecordedPart {
  agentName: string;
  /** Offset of the first event. */
  firstOffset: number;
  events: readonly Event[];
  steps: readonly StepResult[];
  /** The agent's model, which answered unless an event names another one. */
  model?: string | undefined;
  /** The turns of a session that ended in this part. */
  turns?: readonly TurnResultFields[] | undefined;
  /** The number of turns that a session had begun by the end of this part. */
  turnsBegun?: number | undefined;
  /** The run is a flow. */
  isFlow?: boolean | undefined;
  /** The ids of calls that have waited for a decision, decided or not. */
  waited?: ReadonlySet<string> | undefined;
  /** The result, if the run has ended. */
  result?: RunResultFields<unknown> | undefined;
  /** The run continues after this part, in the same execution: what has ended its last wait may not be recorded yet. */
  isOpen?: boolean | undefined;
  /** Set if the server has ended the run, which has no result then. */
  cutOff?: Pick<TracedEnd, 'stopReason' | 'to'> | undefined;
}

/**
 * Returns the trace data of a part of a run's record. Leaves out whatever began before the part: only the whole record has its beginning,
 * and a span must be the same whoever reports it.
 */
export function tracedPart(part: RecordedPart): TracedPart {
  const { agentName, firstOffset, events, steps, turns = [], turnsBegun, model = '', isFlow, waited, result, cutOff } = part;
  const undecided = new Set(waited);
  const calls = new Map<string, RecordedCall>();
  const waits: TracedWait[] = [];
  const children: TracedChild[] = [];
  const turnOf = turnsOfEvents(events, turnsBegun);
  for (const [index, event] of events.entries()) {
    const { author: agent, content, caller, decision, given, step, timestamp } = event;
    if (given) continue;
    const to = Date.parse(timestamp);
    const inTurn = defined({ turn: turnOf(index) });
    for (const [place, item] of content.entries()) {
      const begun = item.type === 'tool_result' && undecided.delete(item.toolCallId) ? calls.get(item.toolCallId) : undefined;
      const outcome = begun && outcomeAfter(index, part);
      if (item.type === 'tool_result' && begun !== undefined && outcome !== undefined)
        waits.push({ ...waitOf(begun, item.toolCallId), outcome, to, ...inTurn });
      if (!isToolCall(item)) continue;
      const ofCode = caller === 'code' ? defined({ cell: cellOfCall(item.toolCallId) }) : {};
      calls.set(item.toolCallId, { at: to, toolName: item.name, place: `.${firstOffset + index}.${place}`, agent, ...ofCode, ...inTurn });
    }
    const call = decision && calls.get(decision.callId);
    if (decision !== undefined) undecided.delete(decision.callId);
    if (decision !== undefined && call !== undefined && decision.source !== 'remembered') {
      const { id, callId, type, source } = decision;
      waits.push({ ...waitOf(call, callId), outcome: type, decision: { id, source }, to, ...inTurn });
    }
    if (step?.child !== undefined && step.startedAt !== undefined && step.type === 'attempt') {
      const { child: childRunId, at: callId, error, startedAt } = step;
      children.push({ childRunId, callId, agent: agentName, isError: error !== undefined, from: Date.parse(startedAt), to });
    }
  }
  // The server has ended the run in the middle of a wait.
  for (const callId of cutOff === undefined ? [] : undecided) {
    const call = calls.get(callId);
    if (call !== undefined && cutOff !== undefined)
      waits.push({ ...waitOf(call, callId), outcome: cutOff.stopReason, to: cutOff.to, ...defined({ turn: call.turn }) });
  }
  const cachesLost = events.flatMap(({ notices = [], answeredBy = model }) =>
    notices.some(({ code }) => code === 'cache_lost') ? [answeredBy] : [],
  );
  const cells = cellsOfCalls(steps, calls);
  return {
    waits,
    children: [...children, ...childrenOfCalls(steps, calls)],
    ...(cells.length === 0 ? {} : { cells }),
    turns: turns.map((turn) => ({ ...endOf(turn), number: turn.turn })),
    ...(cachesLost.length === 0 ? {} : { cachesLost }),
    ...(result === undefined ? {} : { end: { ...endOf(result), ...(isFlow ? { isFlow } : {}) } }),
  };
}

/** Returns the beginning of a wait for a decision about a call: when it was made. */
function waitOf({ toolName, agent, at, cell }: RecordedCall, callId: string): Omit<TracedWait, 'outcome' | 'to'> {
  return { callId, toolName, agent, from: at, ...defined({ cell }) };
}

/**
 * Returns what has ended a wait without a decision, by what follows the event with the result of its call: the end of the turn or the run, or
 * else a message, after which the model was asked again. Whoever has that event has what ended the run, too: it ends in the same execution.
 * Undefined if that may still come.
 */
function outcomeAfter(index: number, { events, result, isOpen }: RecordedPart): WaitOutcome | undefined {
  for (const { turn, usage, content } of events.slice(index + 1)) {
    if (turn !== undefined) return turn.stopReason;
    if (usage !== undefined || content.some((item) => item.type === 'message' && item.role === 'user')) return 'message';
  }
  return isOpen ? undefined : (result?.stopReason ?? 'message');
}

/** A tool call, at its place in the record. */
interface RecordedCall {
  at: number;
  toolName: string;
  /** The end of the id of a child that it starts: its position. */
  place: string;
  agent: string;
  cell?: string;
  turn?: number;
}

/** Returns the executed cells of code whose beginning is known. */
function cellsOfCalls(steps: readonly StepResult[], calls: ReadonlyMap<string, RecordedCall>): TracedCell[] {
  return steps.flatMap(({ toolCalls }) =>
    toolCalls.flatMap(({ callId, toolName, durationMs, timestamp, isError }): TracedCell[] => {
      const call = calls.get(callId);
      if (toolName !== RUN_CODE || call === undefined || durationMs === null) return [];
      const { agent, at: from, turn } = call;
      return [{ callId, agent, isError, from, to: Math.max(from, Date.parse(timestamp)), ...defined({ turn }) }];
    }),
  );
}

/** Returns the calls answered by children whose beginning is known. */
function childrenOfCalls(steps: readonly StepResult[], calls: ReadonlyMap<string, RecordedCall>): TracedChild[] {
  return steps.flatMap(({ toolCalls }) =>
    toolCalls.flatMap(({ callId, toolName, childRunId, durationMs, timestamp, isError }): TracedChild[] => {
      const call = calls.get(callId);
      if (childRunId === undefined || call === undefined || durationMs === null) return [];
      const to = Date.parse(timestamp);
      // A child's id ends with the position of the call that started it, and random characters.
      const isFirst = childRunId.slice(0, childRunId.lastIndexOf('.')).endsWith(call.place);
      const { agent, cell, turn } = call;
      const from = Math.round(to - durationMs);
      return [
        { childRunId, callId, toolName, agent, isError, from, to, ...(isFirst ? {} : { isLater: true }), ...defined({ cell, turn }) },
      ];
    }),
  );
}

/** Returns a function that maps an event to its turn: undefined for a run that is not a session. */
export function turnsOfEvents(events: readonly Event[], begun: number | undefined): (index: number) => number | undefined {
  const ends = events.flatMap(({ turn }, index) => (turn === undefined ? [] : [{ index, turn: turn.number }]));
  return (index) => ends.find((end) => end.index >= index)?.turn ?? begun;
}

function endOf({ startTime, endTime, ...result }: Omit<RunResultFields<unknown>, 'steps'>): TracedEnd {
  const { agentName: agent, status, stopReason, errorCode, units, usage, stepsUsed, toolCallsTotal, turns } = result;
  const to = Date.parse(endTime ?? '') || 0;
  return {
    agent,
    status,
    stopReason,
    ...defined({ errorCode }),
    isWorkflow: units !== undefined,
    ...(turns === undefined ? {} : { isSession: true as const }),
    usage,
    steps: stepsUsed,
    toolCalls: toolCallsTotal,
    from: Date.parse(startTime ?? '') || to,
    to,
  };
}
