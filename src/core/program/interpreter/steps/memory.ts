// Programs: uses of the memory.

import type { StepDocument } from '../../../domain/program/document.ts';
import { noteError } from '../../../loop/state/run-state.ts';
import type { ProgramRun } from '../program-run.ts';
import { recordNote, type RunningStep } from '../record.ts';
import type { AttemptEnd } from '../ends.ts';
import { milliseconds } from '../../../domain/run/duration.ts';
import { timeoutFailure } from '../../errors/step-failures.ts';
import { stepFailure } from '../step-failure.ts';
import { outputIds } from '../values.ts';
import { isoTime } from '../../../domain/record/time.ts';

/** Stores a value, or looks values up. */
export async function useMemoryOnce(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const { program, ports } = run;
  const { at, address, state } = running;
  const kind = step.remember === undefined ? 'recall' : 'remember';
  const outputs = outputIds(program, address, { ...step.remember, ...step.recall });
  const startedAt = isoTime(ports.now());
  const { timeout } = step;
  const timed = timeout === undefined ? {} : { timeoutMs: milliseconds(timeout, `step "${at}": "timeout"`) };
  const edited = state.progress?.approved?.arguments === undefined ? {} : { edited: true as const };
  const outcome = await ports.useMemory({ kind, address: at, attempt: state.attempts, outputs, now: ports.now(), ...timed, ...edited });
  const note = { at, kind, type: 'attempt' as const, attempt: state.attempts, startedAt };
  switch (outcome.type) {
    case 'cancelled':
      return { type: 'stopped' };
    case 'failed': {
      const isTimeOut = outcome.code === 'step_timeout' && timeout !== undefined;
      const error = isTimeOut ? timeoutFailure(timeout, address) : stepFailure(running, outcome.code, outcome.message);
      noteError(run.state, error.message);
      recordNote(run, { ...note, error });
      return { type: 'failed', error, id: run.state.window.lastEventId };
    }
    case 'done': {
      const { id, output } = outcome;
      const content = [{ type: 'message' as const, role: 'assistant' as const, content: JSON.stringify(output) }];
      recordNote(run, note, { id, content });
      return { type: 'done', output, id };
    }
  }
}
