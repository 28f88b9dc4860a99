// Programs: the interpreter.

import { notifyAgain } from '../../loop/approvals/wait-for-decisions.ts';
import { closeRun } from '../../loop/endings/close-run.ts';
import { takeRequests } from '../../loop/requests/messages.ts';
import type { Ending } from '../../loop/next-step.ts';
import { BEGINNING, type LoopEnd } from '../../loop/run-loop.ts';
import type { RunState } from '../../loop/state/run-state.ts';
import { limitStatus } from '../../domain/run/status.ts';
import { failureText } from '../errors/failure-text.ts';
import type { ProgramState } from '../../domain/program/program-state.ts';
import type { ProgramPorts } from './program-ports.ts';
import { outputOf, type ProgramOutput } from './outputs/program-output.ts';
import { spillOutputs } from './outputs/spill-outputs.ts';
import { ProgramRun, type Stop } from './program-run.ts';
import { readEarlier } from './reuse.ts';
import { runSteps } from './run-steps.ts';
import { runUnits } from './run-units.ts';

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
  if (isUnfinished && stop?.type === 'continue') return continueAsNew(run);
  const output = await outputOf(run);
  if (output.type === 'stopped' && run.isContinuing) return continueAsNew(run);
  takeRequests(state, ports);
  const reason = isUnfinished ? stop : run.stop?.type === 'cancelled' && output.type === 'stopped' ? run.stop : undefined;
  const ending = reason === undefined ? ended(run, output) : stopped(reason, output);
  return { type: 'finished', result: closeRun(state, ports, ending) };
}

/** Leaves everything else to the next execution, with the outputs that it needs. */
async function continueAsNew(run: ProgramRun): Promise<LoopEnd> {
  const error = await spillOutputs(run);
  if (error === undefined) return { type: 'continue', position: BEGINNING };
  takeRequests(run.state, run.ports);
  return { type: 'finished', result: closeRun(run.state, run.ports, { status: 'error', stopReason: 'error', output: null, error }) };
}

/** Returns the ending of a program that a cancellation or a limit stopped, with its output as far as it is there. */
function stopped(stop: Stop, output: ProgramOutput): Ending {
  const value = output.type === 'made' ? output.value : null;
  if (stop.type === 'limit') {
    const { stopReason } = stop.reached;
    return { status: limitStatus(stopReason), stopReason, output: value };
  }
  return { status: 'cancelled', stopReason: 'cancelled', output: value };
}

/** Returns the ending of a program whose units have all ended. One that failed makes the program fail. */
function ended({ program, state }: ProgramRun, output: ProgramOutput): Ending {
  const failed = program.document.units.find(({ name }) => program.units.get(name)?.status === 'failed');
  const value = output.type === 'made' ? output.value : null;
  if (failed !== undefined) {
    const { error } = program.units.get(failed.name) ?? {};
    const message = `Unit "${failed.name}" failed: ${error === undefined ? 'a step failed' : failureText(error)}`;
    return { status: 'error', stopReason: 'error', output: value, error: { code: error?.code ?? 'step_failed', message } };
  }
  if (output.type === 'failed') return { status: 'error', stopReason: 'error', output: null, error: output.error };
  state.context.finalResult = value;
  return { status: 'completed', stopReason: 'final_answer', output: value };
}
