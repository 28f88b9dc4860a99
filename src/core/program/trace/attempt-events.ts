import type { Event } from '../../domain/record/event.ts';
import type { JsonObject } from '../../domain/json/json.ts';
import type { StepNote } from '../../domain/program/step-note.ts';
import { formatError, seedNameOf } from '../errors/format-error.ts';
import { type AnsweredStep, answerEvents } from './answer-events.ts';
import { roundedMs } from '../../domain/trace/rounded-ms.ts';
import { type EventPlace, type TraceEvent, traceEvent } from '../../domain/trace/trace-event.ts';
import { secondsOf } from '../../domain/record/time.ts';

/** The end of an attempt of a step. */
export interface EndedAttempt extends AnsweredStep {
  event: Event;
  note: StepNote;
  /** The end of the attempt. */
  place: EventPlace;
}

/** Returns the events of one attempt, in AXON's order: the call, the answer, its checks, and the failure if there is one. */
export function attemptEvents(attempt: EndedAttempt): TraceEvent[] {
  const { note, place } = attempt;
  const { error } = note;
  // The record of a decision has no beginning: nothing was called.
  const called = note.startedAt === undefined ? [] : callEvents(attempt, secondsOf(note.startedAt));
  if (error === undefined) return called;
  const data = { attempt: note.attempt ?? 1, reason: formatError(error), error_type: seedNameOf(error.code) };
  return [...called, traceEvent('retry_attempt', place, data)];
}

function callEvents(attempt: EndedAttempt, startedAt: number): TraceEvent[] {
  const { indexed, note, place, event } = attempt;
  const begun = { ...place, at: startedAt };
  const { ask, tool, agent, program, remember, recall } = indexed.step;
  if (ask !== undefined) return [traceEvent('model_call', begun, promptData(attempt)), ...responseEvents(attempt, startedAt)];
  if (tool !== undefined) return [traceEvent('model_call', begun, { tool_name: tool.name })];
  if (agent !== undefined) return [traceEvent('model_call', begun, { agent_name: agent.name })];
  if (program !== undefined) return [traceEvent('model_call', begun, { program_name: program.name })];
  const durationMs = roundedMs(place.at - startedAt);
  if (note.error !== undefined) return [];
  if (remember !== undefined) return [traceEvent('memory_write', place, { key: String(outputOf(event)) }, durationMs)];
  if (recall === undefined) return [];
  const found = outputOf(event);
  const data = { top_k: recall.topK ?? 5, ...(Array.isArray(found) ? { results_count: found.length } : {}) };
  return [traceEvent('memory_read', place, data, durationMs)];
}

/** AXON calls the number of characters of a prompt its tokens. */
function promptData({ indexed, note }: EndedAttempt): JsonObject {
  const effort = indexed.step.ask?.effort ?? indexed.unit.effort;
  return {
    ...(effort === undefined ? {} : { effort }),
    ...(note.promptLength === undefined ? {} : { prompt_tokens: note.promptLength }),
  };
}

function responseEvents(attempt: EndedAttempt, startedAt: number): TraceEvent[] {
  const { note, place } = attempt;
  const { verdict, answerLength = 0 } = note;
  if (verdict === undefined) return [];
  const data = {
    content_length: answerLength,
    has_structured: note.structured === true,
    ...(verdict.confidence === undefined ? {} : { confidence: verdict.confidence }),
  };
  const response = traceEvent('model_response', place, data, roundedMs(place.at - startedAt));
  return [response, ...answerEvents(verdict, attempt, place)];
}

/** Returns what a step has recorded as its output: the memory steps write it as JSON. */
function outputOf({ content: [item] }: Event): unknown {
  if (item?.type !== 'message' || typeof item.content !== 'string') return undefined;
  try {
    return JSON.parse(item.content);
  } catch {
    return undefined;
  }
}
