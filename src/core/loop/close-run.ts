import { defined } from '../domain/defined.ts';
import { limitValues } from '../domain/limits.ts';
import { unitResults } from '../domain/program-run.ts';
import type { RunResultFields } from '../domain/result.ts';
import { isoTime } from '../domain/time.ts';
import { noUsage } from '../domain/usage.ts';
import { points } from './points.ts';
import type { Ending } from './next-step.ts';
import { noteError, type RunClock, type RunState } from './state/run-state.ts';

// Closing: the result of a run.

export function closeRun(state: RunState, clock: Pick<RunClock, 'now'>, ending: Ending): RunResultFields {
  state.status = ending.status;
  return {
    ...closeUnstarted(
      { runId: state.runId, agentName: state.snapshot.name, startedAt: state.startedAt },
      clock,
      points.endingShown(state, ending),
    ),
    steps: state.steps,
    ...countsOf(state),
    limits: limitValues(state.limits),
    ...finishOf(state, ending),
    ...(state.program === undefined ? {} : { units: unitResults(state.program) }),
    ...points.resultParts(state),
  };
}

/** Returns the finish reason of the answer. Empty for a run without a step, and for a program, whose steps have theirs. */
function finishOf(
  { lastStep, program }: RunState,
  { finishReason = lastStep?.finishReason }: Ending,
): Pick<RunResultFields, 'finishReason'> {
  return finishReason === undefined || program !== undefined ? {} : { finishReason };
}

/** Returns the amounts that a run has used, with those that others have used for it, as its result has them. */
export function countsOf({
  context,
  usage,
  toolCallsTotal,
  toolCallsByName,
  toolCallsNotRun,
  slices,
  session,
}: RunState): Pick<RunResultFields, 'stepsUsed' | 'usage' | 'toolCallsTotal' | 'toolCallsByName' | 'toolCallsNotRun' | 'descendants'> {
  return {
    stepsUsed: context.currentStep - (session?.turn?.stepsBefore ?? 0),
    usage,
    toolCallsTotal,
    toolCallsByName: Object.fromEntries(toolCallsByName),
    ...defined({ toolCallsNotRun }),
    ...points.countParts({ slices }),
  };
}

/** The known facts about a run whose agent was never resolved. */
interface UnstartedRun {
  runId: string;
  agentName: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

/** Notes that the worker's `notifyEnded` hook has failed for good, so that views of the run show it. */
export function noteNotifyEndedFailure(state: RunState, message: string): void {
  noteError(state, `"notifyEnded" could not tell that the run has ended: ${message}`);
}

/** Returns the result of a run that ended before its first step, without a record. */
export function closeUnstarted(
  { runId, agentName, startedAt }: UnstartedRun,
  clock: Pick<RunClock, 'now'>,
  { output, status, stopReason, error, verdict, parts }: Ending,
): RunResultFields {
  const endedAt = clock.now();
  return {
    version: 1,
    runId,
    agentName,
    output,
    status,
    stopReason,
    steps: [],
    stepsUsed: 0,
    usage: noUsage(),
    toolCallsTotal: 0,
    toolCallsByName: {},
    startTime: isoTime(startedAt),
    endTime: isoTime(endedAt),
    durationSeconds: (endedAt - startedAt) / 1000,
    error: error?.message ?? null,
    ...defined({ errorCode: error?.code }),
    limits: { steps: 0 },
    ...defined({ verdict }),
    ...parts,
  };
}
