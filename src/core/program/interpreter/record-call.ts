// Programs: calls in the record, which people decide about and tools execute.

import type { JsonObject } from '../../domain/json.ts';
import type { ToolResult } from '../../domain/content.ts';
import type { StepNote } from '../../domain/verdicts.ts';
import type { RecordedCall } from '../../domain/program-run.ts';
import { callIdAt } from '../state/address.ts';
import type { ProgramRun } from './program-run.ts';
import { forget, recordNote, type RunningStep } from './record.ts';

/** A call of a step. */
export interface StepCall {
  /** The name of the tool, or of the question or review. */
  name: string;
  arguments: JsonObject;
  /** Added to the address of the step: a step may have several calls. */
  suffix?: string;
}

/**
 * Reserves the id of the event of a call of a tool before the run may stop for its next execution: if the workflow task is lost
 * after the call, and the run continues as new instead of calling, the next execution calls with the same idempotency key.
 */
export function reserveCallEvent(run: ProgramRun, running: RunningStep): void {
  const { progress } = running.state;
  if (progress?.call !== undefined || progress?.callEventId !== undefined) return;
  running.state.progress = { ...progress, callEventId: run.ports.callEventId(callIdAt(running.at, running.state.attempts)) };
}

/** Records a call. */
export function recordCall(run: ProgramRun, running: RunningStep, { name, arguments: args, suffix }: StepCall): RecordedCall {
  const { at, state } = running;
  const callId = callIdAt(at, state.attempts, suffix);
  const { callEventId: id = run.ports.callEventId(callId), ...progress } = state.progress ?? {};
  const note: StepNote = { at, kind: state.kind, type: 'start', attempt: state.attempts };
  recordNote(run, note, { id, content: [{ type: 'tool_call', toolCallId: callId, name, arguments: args }] });
  const { through, lastEventId } = run.state.window;
  const call = { callId, eventId: lastEventId, offset: through - 1 };
  state.progress = { ...progress, call };
  return call;
}

/** The result of a call. `error` is that of an attempt which has failed by it, and `startedAt` the beginning of a call that was made. */
export type CallResult = Pick<ToolResult, 'name' | 'status' | 'content'> & Pick<StepNote, 'startedAt' | 'error'>;

/** Records the result of a call, after which nothing needs the event of the call any more. */
export function recordResult(
  run: ProgramRun,
  { at, state }: RunningStep,
  call: RecordedCall,
  { name, status, content, ...noted }: CallResult,
): void {
  const note: StepNote = { at, kind: state.kind, type: 'attempt', attempt: state.attempts, ...noted };
  recordNote(run, note, { content: [{ type: 'tool_result', toolCallId: call.callId, name, status, content }] });
  closeCall(run, { state }, call);
}

/** Forgets the event of a call that has ended. */
export function closeCall(run: ProgramRun, { state }: Pick<RunningStep, 'state'>, { eventId }: RecordedCall): void {
  forget(run.state.window, ({ id }) => id === eventId);
  delete state.progress?.call;
}
