// Programs: the events and the states of steps.

import type { Event } from '../../domain/record.ts';
import type { StepError, StepNote } from '../../domain/verdicts.ts';
import { noteError, recordEvent } from '../../loop/state/run-state.ts';
import { addressText, type StepAddress } from '../state/address.ts';
import type { StepState } from '../../domain/program-run.ts';
import type { AttemptEnd } from './ends.ts';
import type { ProgramRun } from './program-run.ts';
import { indexOf } from '../state/program-index.ts';
import { isoTime } from '../../domain/time.ts';

/** A step in the run of its program. */
export interface RunningStep {
  address: StepAddress;
  /** The text of the address. */
  at: string;
  state: StepState;
}

/** Records an event of a step. Its content leaves the window at once: no model of the run reads it. */
export function recordNote({ state, ports }: ProgramRun, note: StepNote, event: Partial<Event> = {}): void {
  recordEvent(state, ports, { author: note.at, content: [], ...event, step: note });
  const isOpenCall = event.content?.some(({ type }) => type === 'tool_call') === true;
  if (!isOpenCall) forget(state.window, ({ id }) => id === state.window.lastEventId);
}

/** Removes events from the window that nothing needs any more. */
export function forget(window: ProgramRun['state']['window'], isForgotten: (event: { id: string }) => boolean): void {
  const kept = window.events.filter((event) => !isForgotten(event));
  if (kept.length === window.events.length) return;
  window.events = kept;
  window.bytes = kept.reduce((sum, { content }) => sum + JSON.stringify(content).length, 0);
}

/** Returns the running state of a step, and begins it if it has not begun. */
export function beginStep(run: ProgramRun, address: StepAddress): RunningStep {
  const at = addressText(address);
  const { program, ports } = run;
  const { kind } = indexOf(program.document).get(address.unit, address.step);
  let state = program.steps.get(at);
  if (state === undefined) {
    state = { kind, status: 'running', startedAt: ports.now(), attempts: 0 };
    program.steps.set(at, state);
    recordNote(run, { at, kind, type: 'start' });
  }
  return { address, at, state };
}

/** Records an attempt that failed before anything was called. */
export function failedAtOnce(run: ProgramRun, { at, state }: RunningStep, error: StepError): AttemptEnd & { type: 'failed' } {
  noteError(run.state, error.message);
  recordNote(run, { at, kind: state.kind, type: 'attempt', attempt: state.attempts, error });
  return { type: 'failed', error, id: run.state.window.lastEventId };
}

/** Ends a step, and drops what only a running step needs. */
export function endStep(run: ProgramRun, { at, state }: RunningStep, end: Pick<StepState, 'status'> & Partial<StepState>): void {
  Object.assign(state, end, { endedAt: run.ports.now() });
  delete state.progress;
  const { kind, status, error, reason, reused } = state;
  const note: StepNote = { at, kind, type: 'end', startedAt: isoTime(state.startedAt) };
  if (status !== 'running') note.status = status;
  recordNote(run, {
    ...note,
    ...(error === undefined ? {} : { error }),
    ...(reason === undefined ? {} : { reason }),
    ...(reused ? { reused } : {}),
  });
  run.ports.recorded?.(run.state);
}
