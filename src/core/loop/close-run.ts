import { cutText, newest } from '../domain/byte-budgets.ts';
import { defined } from '../domain/defined.ts';
import { guardrailsOf } from '../domain/guardrails.ts';
import { limitValues } from '../domain/limits.ts';
import { unitResults } from '../domain/program-run.ts';
import type { RunResultFields } from '../domain/result.ts';
import type { EventRange, NotArchived } from '../domain/run.ts';
import { isoTime } from '../domain/time.ts';
import { noUsage } from '../domain/usage.ts';
import { firstAgent, hasSeveralAgents } from './handoffs.ts';
import type { Ending } from './next-step.ts';
import { noteError, type RunClock, type RunState } from './state/run-state.ts';

// Closing: the result of a run.

export function closeRun(state: RunState, clock: Pick<RunClock, 'now'>, ending: Ending): RunResultFields {
  state.status = ending.status;
  return {
    ...closeUnstarted(
      { runId: state.runId, agentName: firstAgent(state), startedAt: state.startedAt },
      clock,
      withoutUncheckedOutput(state, ending),
    ),
    steps: state.steps,
    ...countsOf(state),
    limits: limitValues(state.limits),
    ...finishOf(state, ending),
    ...(state.program === undefined ? {} : { units: unitResults(state.program) }),
    ...agentsOf(state),
    ...defined({ hooks: state.hookRecords }),
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
function withoutUncheckedOutput(state: RunState, ending: Ending): Ending {
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
  descendants,
  session,
}: RunState): Pick<RunResultFields, 'stepsUsed' | 'usage' | 'toolCallsTotal' | 'toolCallsByName' | 'toolCallsNotRun' | 'descendants'> {
  return {
    stepsUsed: context.currentStep - (session?.turn?.stepsBefore ?? 0),
    usage,
    toolCallsTotal,
    toolCallsByName: Object.fromEntries(toolCallsByName),
    ...defined({ toolCallsNotRun, descendants }),
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
    ...defined({ errorCode: error?.code }),
    limits: { steps: 0 },
    ...defined({ verdict, guardrail }),
  };
}

// Shared state: events that the archive has or lacks.

/**
 * The most ranges of missing events that a run keeps, and their bytes of JSON, because they are carried over. Adjacent ranges are
 * joined, so that an archive that always fails leaves a single one.
 */
const KEPT = { count: 50, bytes: 3_500 };

/** Bytes of JSON of the message of a range. */
const MESSAGE_BYTES = 200;

/** Notes that the archive begins to store events. `now` is in milliseconds since the epoch. */
export function beginArchiving(state: RunState, { from, through }: EventRange, now: number): void {
  state.archiving = { from, through, since: isoTime(now) };
}

/** Notes that the archive has stored the events, or that it has not because of `failure`. */
export function endArchiving(state: RunState, failure?: string): void {
  const { archiving, notArchived = [] } = state;
  delete state.archiving;
  if (archiving === undefined) return;
  const { from, through } = archiving;
  if (failure === undefined) {
    const left = notArchived.flatMap((range) => rangeBefore(range, from));
    if (left.length === 0) delete state.notArchived;
    else state.notArchived = left;
    return;
  }
  if (from === through) return;
  state.notArchived = newest(joinRanges(notArchived, { from, through, message: cutText(failure, MESSAGE_BYTES) }), KEPT);
}

/** Returns the part of a range before an offset from which on the archive has everything. */
function rangeBefore(range: NotArchived, from: number): NotArchived[] {
  if (range.through <= from) return [range];
  return range.from < from ? [{ ...range, through: from }] : [];
}

/** Adds the events that are not in the archive to a result. They are known only after the last events were stored. */
export function withNotArchived(result: RunResultFields, state: RunState | undefined): RunResultFields {
  return state?.notArchived === undefined ? result : { ...result, notArchived: state.notArchived };
}

function joinRanges(ranges: readonly NotArchived[], next: NotArchived): NotArchived[] {
  const last = ranges.at(-1);
  if (last === undefined || last.through < next.from) return [...ranges, next];
  return [...ranges.slice(0, -1), { ...next, from: Math.min(last.from, next.from) }];
}
