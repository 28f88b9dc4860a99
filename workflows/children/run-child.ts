import { childProblem } from '../../src/core/activity-requests/child-requests.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { CancellationScope, condition, ParentClosePolicy, ChildWorkflowCancellationType, startChild } from '@temporalio/workflow';
import { openingText } from '../../src/core/domain/run/opening.ts';
import { summaryText } from '../../src/core/domain/content/summary-text.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import type { ChildCall, ChildOutcome, ChildStart } from '../../src/core/program/interpreter/program-ports.ts';
import { AGENT_RUN, PROGRAM_RUN, type ReportEndInput, SIGNALS } from '../../src/core/protocol.ts';
import type { LiveRun } from '../run/live-run.ts';
import { awaitEarlierChild } from './earlier-child.ts';
import { cancelChild, END_WAIT } from './cancel-child.ts';
import { type ChildEnd, endOfFailure, outcomeOf } from './child-outcome.ts';
import { signalRun } from './signal-run.ts';

/**
 * Runs a child, or waits for one that an earlier execution has started. Never rejects.
 *
 * The server applies the close policy of a child also when its parent continues as new, so a child is started with
 * ABANDON; and its end is told to the execution that has started it alone. Before the run continues as new, it tells its
 * children to report their end to its id.
 */
export function runChild(run: LiveRun, call: ChildCall): Promise<ChildOutcome> {
  const { start } = call;
  const scope = CancellationScope.current();
  const isCancelled = (): boolean => scope.consideredCancelled;
  return CancellationScope.nonCancellable(async () => {
    try {
      return await (start === undefined ? awaitEarlierChild(run, call, isCancelled) : awaitNewChild(run, call, { start, isCancelled }));
    } catch (error) {
      return { type: 'failed', code: 'child_failed', message: errorMessage(error) };
    } finally {
      // A run whose steps are all children makes progress too: it may continue as new.
      run.activitiesEnded += 1;
    }
  });
}

async function awaitNewChild(
  run: LiveRun,
  { runId, isLeft }: ChildCall,
  { start, isCancelled }: { start: ChildStart; isCancelled: () => boolean },
): Promise<ChildOutcome> {
  // A command that is too large would fail the workflow task repeatedly.
  const problem = childProblem(start);
  if (problem !== undefined) return { type: 'failed', code: 'child_failed', message: problem };
  let end: ChildEnd | undefined;
  const child = await startChild<(input: object) => Promise<RunResultFields>>(start.kind === 'agent' ? AGENT_RUN : PROGRAM_RUN, {
    args: [start.input],
    workflowId: runId,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
    parentClosePolicy: ParentClosePolicy.ABANDON,
    staticSummary: summaryText(summaryOf(start)),
  });
  child.result().then(
    (result) => (end = { type: 'ended', result }),
    (error: unknown) => (end = endOfFailure(error)),
  );
  await condition(() => end !== undefined || isCancelled() || isLeft());
  if (end === undefined && isCancelled()) return cancelChild(run, runId, () => end !== undefined);
  if (end === undefined) {
    const isTold = await signalRun<ReportEndInput>(runId, SIGNALS.reportEnd, { to: run.runId });
    // A child that has ended cannot be told: its end is on the way to this execution.
    if (!isTold) await condition(() => end !== undefined, END_WAIT);
  }
  return end === undefined ? { type: 'left', seenAt: Date.now() } : outcomeOf(run, runId, end);
}

function summaryOf(start: ChildStart): string {
  if (start.kind === 'agent') return `${start.input.agent}: ${openingText(start.input)}`;
  const { program } = start.input;
  return typeof program === 'string' ? program : program.name;
}
