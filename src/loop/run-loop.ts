import type { RunResultFields } from '../domain/run-result.ts';
import { callModel } from './call-model.ts';
import { closeRun } from './close-run.ts';
import type { NextStep } from './next-step.ts';
import type { RunPorts } from './ports.ts';
import { runTools } from './run-tools.ts';
import type { RunState } from './run-state.ts';

/**
 * The agent loop: think, act, observe, until a phase says how the run ends. Pure: every effect goes through
 * `ports`, every decision is taken from recorded data, and nothing is thrown for what a model or a tool does.
 */
export async function runLoop(state: RunState, ports: RunPorts): Promise<RunResultFields> {
  let next: NextStep = { type: 'call_model', final: false };
  while (next.type !== 'finish') {
    next = next.type === 'call_model' ? await callModel(state, ports, next.final) : await runTools(state, ports, next.response, next.final);
    ports.recorded?.(state);
  }
  return closeRun(state, ports, next.ending);
}
