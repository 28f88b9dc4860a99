// Programs: one attempt of a step.

import type { StepDocument } from '../../domain/program/document.ts';
import { approve } from './approve.ts';
import type { ProgramRun } from './program-run.ts';
import type { RunningStep } from './record.ts';
import { reserveCallEvent } from './record-call.ts';
import { review } from './review.ts';
import type { AttemptEnd } from './ends.ts';
import { askOnce } from './steps/ask.ts';
import { runChildOnce } from './steps/child.ts';
import { askHuman } from './steps/human.ts';
import { useMemoryOnce } from './steps/memory.ts';
import { sleepOnce } from './steps/sleep.ts';
import { callTool } from './steps/tool.ts';

/** Makes one attempt: waits for the approval, acts, and waits for the review. Goes on where the execution before has stopped. */
export async function runOnce(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  const { held } = running.state.progress ?? {};
  if (held !== undefined) return review(run, running, step, { type: 'done', ...held });
  const decided = await approve(run, running, step);
  const end = decided ?? (await act(run, running, step));
  return end.type === 'done' ? review(run, running, step, end) : end;
}

async function act(run: ProgramRun, running: RunningStep, step: StepDocument): Promise<AttemptEnd> {
  if (step.tool !== undefined) reserveCallEvent(run, running);
  // A child starts with its part of the limits. One that is running is waited for also if no further step may start.
  if (step.agent !== undefined || step.program !== undefined || step.ask?.tools !== undefined) return runChildOnce(run, running, step);
  if (!(await run.mayStart(step.ask === undefined ? 'other' : 'model'))) return { type: 'stopped' };
  if (step.ask !== undefined) return askOnce(run, running, step);
  if (step.tool !== undefined) return callTool(run, running, step);
  if (step.human !== undefined) return askHuman(run, running, step.human);
  if (step.sleep !== undefined) return sleepOnce(run, running, step.sleep);
  if (step.remember !== undefined || step.recall !== undefined) return useMemoryOnce(run, running, step);
  throw new TypeError(`Step "${running.at}" is of no kind that this release runs`);
}
