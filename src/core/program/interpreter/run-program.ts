// Programs: the interpreter.

import type { JsonValue } from '../../domain/json/json.ts';
import { errorMessage } from '../../domain/errors/error.ts';
import { notifyAgain } from '../../loop/approvals/wait-for-decisions.ts';
import { closeRun } from '../../loop/close-run.ts';
import { takeRequests } from '../../loop/messages.ts';
import type { Ending } from '../../loop/next-step.ts';
import { BEGINNING, type LoopEnd } from '../../loop/run-loop.ts';
import type { RunState } from '../../loop/state/run-state.ts';
import { formatError } from '../errors/format-error.ts';
import { resolveValue } from '../references/interpolate.ts';
import type { ProgramState } from '../../domain/program/program-state.ts';
import type { ProgramPorts } from './program-ports.ts';
import { ProgramRun } from './program-run.ts';
import { forgetUnnamed } from './forget-unnamed.ts';
import { readEarlier } from './reuse.ts';
import { runSteps } from './run-steps.ts';
import { runUnits } from './run-units.ts';
import { lookupAt } from './values.ts';

/**
 * Runs the units of a program until all have ended, a limit or a cancellation stops it, or the history of this execution
 * is full. It is pure: every effect goes through `ports`, and every decision is taken from recorded data.
 */
export async function runProgram(state: RunState, program: ProgramState, ports: ProgramPorts): Promise<LoopEnd> {
  const run = new ProgramRun({ state, program, ports }, runSteps);
  const unread = await readEarlier(run);
  if (unread !== undefined) {
    const ending: Ending = { status: 'error', stopReason: 'error', output: null, error: unread };
    return { type: 'finished', result: closeRun(state, ports, ending) };
  }
  notifyAgain(state, ports);
  let isDone = false;
  const units = runUnits(run).finally(() => {
    isDone = true;
  });
  await Promise.all([units, run.attend(() => isDone)]);
  const { stop } = run;
  const isUnfinished = program.document.units.some(({ name }) => (program.units.get(name)?.status ?? 'running') === 'running');
  if (isUnfinished && stop?.type === 'continue') {
    forgetUnnamed(program);
    return { type: 'continue', position: BEGINNING };
  }
  takeRequests(state, ports);
  const ending = isUnfinished && stop !== undefined ? stopped(run) : ended(run);
  return { type: 'finished', result: closeRun(state, ports, ending) };
}

/** Returns the ending of a program that a cancellation or a limit stopped. */
function stopped(run: ProgramRun): Ending {
  const output = outputOf(run.program) ?? null;
  if (run.stop?.type === 'limit') return { status: 'max_iterations_reached', stopReason: run.stop.reached.stopReason, output };
  return { status: 'cancelled', stopReason: 'cancelled', output };
}

/** Returns the ending of a program whose units have all ended. One that failed makes the program fail. */
function ended({ program, state }: ProgramRun): Ending {
  const failed = program.document.units.find(({ name }) => program.units.get(name)?.status === 'failed');
  try {
    const output = outputOf(program) ?? null;
    if (failed === undefined) {
      state.context.finalResult = output;
      return { status: 'completed', stopReason: 'final_answer', output };
    }
    const { error } = program.units.get(failed.name) ?? {};
    const message = `Unit "${failed.name}" failed: ${error === undefined ? 'a step failed' : formatError(error)}`;
    return { status: 'error', stopReason: 'error', output, error: { code: error?.code ?? 'internal', message } };
  } catch (error) {
    return { status: 'error', stopReason: 'error', output: null, error: { code: 'internal', message: errorMessage(error) } };
  }
}

/** Returns the output of a program: its template, or the output of the last step of the last unit. */
function outputOf(program: ProgramState): JsonValue | undefined {
  const { output, units } = program.document;
  const last = units.at(-1);
  if (output === undefined) return program.steps.get(`${last?.name}.${last?.steps.at(-1)?.name}`)?.output;
  const resolved = resolveValue(output, lookupAt(program, { unit: '', step: '', indexes: [] }));
  return resolved.ok ? resolved.value : null;
}
