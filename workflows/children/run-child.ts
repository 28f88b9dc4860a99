import {
  CancellationScope,
  ChildWorkflowCancellationType,
  type ChildWorkflowHandle,
  condition,
  ParentClosePolicy,
  startChild,
} from '@temporalio/workflow';
import { childProblem, endOfFailure, readChildRequest } from '../../src/core/activity-requests/child-requests.ts';
import { summaryText } from '../../src/core/domain/content/summary-text.ts';
import { errorMessage } from '../../src/core/domain/errors/error.ts';
import { openingText } from '../../src/core/domain/run/opening.ts';
import { DEFAULT_CHILD_CHECK_MS } from '../../src/core/domain/run/parent-run.ts';
import type { RunResultFields } from '../../src/core/domain/run/result.ts';
import type { ChildEffects, ChildEnd } from '../../src/core/program/children/child-effects.ts';
import { followChild } from '../../src/core/program/children/follow-child.ts';
import type { ChildCall, ChildOutcome, ChildStart } from '../../src/core/program/interpreter/program-ports.ts';
import { AGENT_RUN, PROGRAM_RUN, type ReportEndInput, SIGNALS } from '../../src/core/protocol.ts';
import type { LiveRun } from '../run/live-run.ts';
import { scheduleActivity } from '../run/schedule-activity.ts';
import { cancelRun, signalRun } from './other-runs.ts';
import { startInTurn } from './start-in-turn.ts';

type RunWorkflow = (input: object) => Promise<RunResultFields>;

/** Runs a child, or waits for one that an earlier execution has started. Never rejects. */
export function runChild(run: LiveRun, call: ChildCall): Promise<ChildOutcome> {
  const scope = CancellationScope.current();
  const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = run.snapshot?.timing ?? {};
  return CancellationScope.nonCancellable(async () => {
    try {
      return await followChild(
        childEffects(run, call.runId, () => scope.consideredCancelled),
        call,
        childCheckMs,
      );
    } catch (error) {
      return { type: 'failed', code: 'child_failed', message: errorMessage(error) };
    } finally {
      // A run whose steps are all children makes progress too: it may continue as new.
      run.activitiesEnded += 1;
    }
  });
}

function childEffects(run: LiveRun, runId: string, isCancelled: () => boolean): ChildEffects {
  let end: ChildEnd | undefined;
  return {
    start: async (start) => {
      // A command that is too large would fail the workflow task repeatedly.
      const problem = childProblem(start);
      if (problem !== undefined) return problem;
      try {
        const child = await startInTurn(run, start, () => startRun(runId, start));
        child.result().then(
          (result) => (end = { type: 'ended', result }),
          (error: unknown) => (end = endOfFailure(error)),
        );
        return undefined;
      } catch (error) {
        return errorMessage(error);
      }
    },
    end: () => end,
    hasReported: () => run.inbox.hasChildEnded(runId),
    isCancelled,
    tell: () => signalRun<ReportEndInput>(runId, SIGNALS.reportEnd, { to: run.runId }),
    cancel: () => cancelRun(runId),
    read: (options) => scheduleActivity(run, readChildRequest({ runId, ...options })),
    wait: async (isMet, deadline) => {
      if (deadline === undefined) await condition(isMet);
      else if (deadline.at > Date.now()) await condition(isMet, deadline.at - Date.now(), { summary: deadline.summary });
    },
    now: () => Date.now(),
  };
}

/**
 * Starts the workflow of a child. The server applies the close policy of a child also when its parent continues as new: with
 * any policy but ABANDON, the child would end then.
 */
function startRun(runId: string, start: ChildStart): Promise<ChildWorkflowHandle<RunWorkflow>> {
  return startChild<RunWorkflow>(start.kind === 'agent' ? AGENT_RUN : PROGRAM_RUN, {
    args: [start.input],
    workflowId: runId,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
    parentClosePolicy: ParentClosePolicy.ABANDON,
    staticSummary: summaryText(summaryOf(start)),
  });
}

function summaryOf(start: ChildStart): string {
  if (start.kind === 'agent') return `${start.input.agent}: ${openingText(start.input)}`;
  const { program } = start.input;
  return typeof program === 'string' ? program : program.name;
}
