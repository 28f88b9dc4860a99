// Closing: the result of a run.

import type { RunResultFields } from '../../domain/result.ts';
import { unitResults } from '../../domain/program-run.ts';
import { noUsage } from '../../domain/usage.ts';
import { firstAgent, hasSeveralAgents } from '../handoffs/transfer-calls.ts';
import type { RunClock } from '../state/clock.ts';
import { limitValues } from '../../domain/limits.ts';
import { guardrailsOf } from '../../domain/guardrails.ts';
import type { Ending } from '../next-step.ts';
import { noteError, type RunState } from '../state/run-state.ts';
import { isoTime } from '../../domain/time.ts';

/** Closes a run and returns its result, from its record and its ending. */
export function closeRun(state: RunState, clock: Pick<RunClock, 'now'>, ending: Ending): RunResultFields {
  state.status = ending.status;
  return {
    ...closeUnstarted({ runId: state.runId, agentName: firstAgent(state), startedAt: state.startedAt }, clock, shown(state, ending)),
    steps: state.steps,
    ...countsOf(state),
    limits: limitValues(state.limits),
    ...finishOf(state, ending),
    ...(state.program === undefined ? {} : { units: unitResults(state.program) }),
    ...agentsOf(state),
    ...(state.hookRecords === undefined ? {} : { hooks: state.hookRecords }),
  };
}

/** Returns the finish reason of the answer. Empty for a run without a step, and for a program, whose steps have theirs. */
function finishOf(
  { lastStep, program }: RunState,
  { finishReason = lastStep?.finishReason }: Ending,
): Pick<RunResultFields, 'finishReason'> {
  return finishReason === undefined || program !== undefined ? {} : { finishReason };
}

/** Returns the agent that acted last, and the usage of each. Empty for a run that was not handed over. */
function agentsOf(state: RunState): Pick<RunResultFields, 'lastAgent' | 'usageByAgent'> {
  const { handoffs, snapshot } = state;
  if (handoffs === undefined || !hasSeveralAgents(state)) return {};
  return { lastAgent: snapshot.name, usageByAgent: Object.fromEntries(handoffs.usage) };
}

/**
 * Returns the ending without an output that no guardrail has passed: an agent with guardrails for its answers shows no partial
 * answer either.
 */
function shown(state: RunState, ending: Ending): Ending {
  return guardrailsOf(state.snapshot, 'output').length > 0 && !ending.checked && ending.guardrail === undefined
    ? { ...ending, output: '' }
    : ending;
}

/** Returns the amounts that a run has used, with those of its children, as its result has them. */
export function countsOf({
  context,
  usage,
  toolCallsTotal,
  toolCallsByName,
  toolCallsNotRun,
  below,
  session,
}: RunState): Pick<RunResultFields, 'stepsUsed' | 'usage' | 'toolCallsTotal' | 'toolCallsByName' | 'toolCallsNotRun' | 'below'> {
  return {
    stepsUsed: context.currentStep - (session?.turn?.stepsBefore ?? 0),
    usage,
    toolCallsTotal,
    toolCallsByName: Object.fromEntries(toolCallsByName),
    ...(toolCallsNotRun === undefined ? {} : { toolCallsNotRun }),
    ...(below === undefined ? {} : { below }),
  };
}

/** The known facts about a run whose agent was never resolved. */
export interface UnstartedRun {
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
  { output, status, stopReason, error, verdict, guardrail }: Ending,
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
    ...(error === undefined ? {} : { errorCode: error.code }),
    limits: { steps: 0 },
    ...(verdict === undefined ? {} : { verdict }),
    ...(guardrail === undefined ? {} : { guardrail }),
  };
}
