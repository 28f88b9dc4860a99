import { CancellationScope, condition, patched, uuid4 } from '@temporalio/workflow';
import type { RunPorts } from '../src/loop/ports.ts';
import type { RunState } from '../src/loop/run-state.ts';
import { continueDue } from './continue-due.ts';
import type { LiveRun, ResolvedRun } from './live-run.ts';
import { callModel, summarise } from './model-activities.ts';
import { runTool } from './tool-activity.ts';

/** The loop's ports on Temporal: every effect is an activity, time and ids come from the workflow. */
export function temporalPorts(run: ResolvedRun, recorded: (state: RunState) => void): RunPorts {
  const { inbox } = run;
  const cancelRequested = (): boolean => CancellationScope.current().consideredCancelled;
  return {
    now: () => Date.now(),
    uuid: () => uuid4(),
    callModel: (call) => callModel(run, call),
    runTool: (invocation) => runTool(run, invocation),
    summarise: (request) => summarise(run, request),
    cancelRequested,
    takeMessages: () => inbox.take(),
    paused: () => inbox.paused,
    idle: () => idle(run),
    continueDue: (growth) => continueDue(run, growth),
    allows: (change) => patched(change),
    recorded,
  };
}

/** Until the run is resumed or something has come that may have filled the history. A cancellation ends it, and is seen by who waits. */
async function idle({ inbox }: LiveRun): Promise<void> {
  const { arrivals } = inbox;
  try {
    await condition(() => !inbox.paused || inbox.arrivals > arrivals);
  } catch {
    // Cancelled: the loop asks for that by itself.
  }
}
