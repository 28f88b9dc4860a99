import { isToolCall } from './content.ts';
import { defined } from './json.ts';
import type { Event } from './record.ts';
import type { RunResultFields } from './result.ts';
import type { StopReason, TerminalStatus } from './run.ts';
import type { TurnResultFields } from './sessions.ts';
import { cellOfCall, RUN_CODE, type StepResult } from './tool-calls.ts';
import type { AggregatedUsage, UsageStats } from './usage.ts';

/** Something that a run has waited for or done, from its beginning to its end. Milliseconds since the epoch. */
interface Lasting {
  from: number;
  to: number;
}

/** The same in a session. */
interface InTurn extends Lasting {
  /** The agent that has made the call. */
  agent: string;
  /** The turn of a session in which it ended. */
  turn?: number;
}

/** What code may have made: it is then below its cell. */
interface OfCode {
  /** The id of the call of `run_code` whose cell has made the call. Absent: the model has made it. */
  cell?: string;
}

/** A cell of code, from the answer with the call of `run_code` to its result, with all calls that it has made. */
export interface TracedCell extends InTurn {
  callId: string;
  isError: boolean;
}

/** A wait for a decision about a call. */
export interface TracedWait extends InTurn, OfCode {
  /** The id of the decision. */
  id: string;
  callId: string;
  toolName: string;
  decision: string;
  source: string;
}

/** A call, or a step of a program, that a child has answered. */
export interface TracedChild extends InTurn, OfCode {
  childRunId: string;
  /** The id of the call, or the address of the step. */
  callId: string;
  /** Absent: a step of a program. */
  toolName?: string;
  /** The child is kept, and an earlier call has started it. */
  isLater?: true;
  isError: boolean;
}

/** The end of a run, or of a turn. */
export interface TracedEnd extends Lasting {
  agent: string;
  /** `terminated`, `timed_out`: by the server, and the run has not recorded it. */
  status: TerminalStatus | 'terminated' | 'timed_out';
  stopReason: StopReason | 'terminated' | 'timed_out';
  errorCode?: string;
  /** The run is that of a program. */
  isWorkflow: boolean;
  /** The run is that of a flow. */
  isFlow?: true;
  /** The run is a session, whose turns have their own ends. */
  isSession?: true;
  usage: AggregatedUsage;
  steps: number;
  toolCalls: number;
}

/** A turn of a session that has ended. */
export interface TracedTurn extends TracedEnd {
  number: number;
}

/** An attempt at a call. */
interface TracedAttempt extends InTurn, OfCode {
  /** The id of a tool call, the number of events of a model call of a step, or the name of another activity. */
  call: string;
  /** Absent: a model call. */
  toolName?: string;
  /** `provider/model` of a model call. */
  model?: string;
  step?: number;
  /**
   * Temporal's id of the activity that has made the attempt. Empty for a local one. A call may be made by several, each of which counts its attempts:
   * one that a burst has left to its run, that its batch has not answered, that a larger model is asked, or that another worker makes.
   */
  activity: string;
  attempt: number;
  /** How often the activity, or a batch, had made a call under the same name to its end before. Absent: never. */
  earlier?: number;
  /** When its worker had a local call, by the clock of the worker: its name has it. */
  localAt?: number;
}

/** One whose worker has not answered any more: the next one reports it, or whoever reads the record. The model is the first that it asks. */
export type TracedLoss = TracedAttempt;

/**
 * The attempt with which a call has ended. Its worker reports it, and may be killed before: the record has the same, with the times at which the
 * server heard of it.
 */
export interface TracedCall extends TracedAttempt {
  /** The place of the model among those that the attempt has asked, 1-based. */
  asked?: number;
  /** A code, or why a tool has failed. Absent: it has succeeded. */
  code?: string;
  usage?: UsageStats | null;
  finishReason?: string;
}

/**
 * Returns the beginning of a lost attempt as all can know it who report it. Of an attempt after the first nobody knows it: its span has the moment
 * of its end alone.
 */
export function beginningOfLoss({ attempt, scheduledAt, to }: { attempt: number; scheduledAt: number; to: number }): number {
  return attempt === 1 ? Math.min(scheduledAt, to) : to;
}

/** What the place of a run in its trace follows from, as the run knows it when it begins. */
export interface TracedBeginning {
  /** The key of a run inside a workflow of the user, or empty. */
  key: string;
  traceparent?: string;
  /** The run is a session of callers or of its parent. */
  isSession?: true;
  /** It is below a call of its parent. */
  isChild?: true;
}

/** The part of a run's record that its trace shows beside its model calls and tool calls. Without content. */
export interface TracedPart {
  waits: TracedWait[];
  children: TracedChild[];
  turns: TracedTurn[];
  /** Absent: none. */
  cells?: TracedCell[];
  /** The models of the answers whose providers had lost what they had cached. */
  cachesLost?: string[];
  /** Present if the histories of the run were read. */
  losses?: TracedLoss[];
  /** The same: the last attempts of the calls that have ended, as far as the histories have them. */
  calls?: TracedCall[];
  /** Absent: the run continues. */
  end?: TracedEnd;
}

/** A stretch of the record of a run: that of a turn, of one execution, or of all. */
interface RecordedPart {
  agentName: string;
  /** Offset of the first event. */
  firstOffset: number;
  events: readonly Event[];
  steps: readonly StepResult[];
  /** The model of the agent, which has answered unless an event names another. */
  model?: string | undefined;
  /** The turns of a session that have ended in it. */
  turns?: readonly TurnResultFields[] | undefined;
  /** The number of turns of a session that had begun at its end. */
  turnsBegun?: number | undefined;
  /** The run is that of a flow. */
  isFlow?: boolean | undefined;
  /** The result, if the run has ended. */
  result?: RunResultFields<unknown> | undefined;
}

/**
 * Returns what the trace of a run shows of a part of its record. What began before the part is left out: only the whole record knows when
 * it did, and a span must be the same whoever reports it.
 */
export function tracedPart(part: RecordedPart): TracedPart {
  const { agentName, firstOffset, events, steps, turns = [], turnsBegun, model = '', isFlow, result } = part;
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
      if (!isToolCall(item)) continue;
      const ofCode = caller === 'code' ? defined({ cell: cellOfCall(item.toolCallId) }) : {};
      calls.set(item.toolCallId, { at: to, place: `.${firstOffset + index}.${place}`, agent, ...ofCode, ...inTurn });
    }
    const call = decision && calls.get(decision.callId);
    if (decision !== undefined && call !== undefined && decision.source !== 'remembered') {
      const { id, callId, toolName, type, source } = decision;
      const { agent: maker, at: from, cell } = call;
      waits.push({ id, callId, toolName, decision: type, source, agent: maker, from, to, ...defined({ cell }), ...inTurn });
    }
    if (step?.child !== undefined && step.startedAt !== undefined && step.type === 'attempt') {
      const { child: childRunId, at: callId, error, startedAt } = step;
      children.push({ childRunId, callId, agent: agentName, isError: error !== undefined, from: Date.parse(startedAt), to });
    }
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

/** A call of a tool, where the record has it. */
interface RecordedCall {
  at: number;
  /** The end of the id of a child that it starts: its position. */
  place: string;
  agent: string;
  cell?: string;
  turn?: number;
}

/** Returns the cells of code that have run, of those whose beginning is known. */
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

/** Returns the calls that children have answered, of those whose beginning is known. */
function childrenOfCalls(steps: readonly StepResult[], calls: ReadonlyMap<string, RecordedCall>): TracedChild[] {
  return steps.flatMap(({ toolCalls }) =>
    toolCalls.flatMap(({ callId, toolName, childRunId, durationMs, timestamp, isError }): TracedChild[] => {
      const call = calls.get(callId);
      if (childRunId === undefined || call === undefined || durationMs === null) return [];
      const to = Date.parse(timestamp);
      // The id of a child ends with the position of the call that has started it, and random characters.
      const isFirst = childRunId.slice(0, childRunId.lastIndexOf('.')).endsWith(call.place);
      const { agent, cell, turn } = call;
      const from = Math.round(to - durationMs);
      return [
        { childRunId, callId, toolName, agent, isError, from, to, ...(isFirst ? {} : { isLater: true }), ...defined({ cell, turn }) },
      ];
    }),
  );
}

/** Returns a function that says in which turn an event was recorded; undefined for a run that is no session. */
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
