import { type SearchAttributePair, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  type ChildWorkflowHandle,
  condition,
  ParentClosePolicy,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import { childProblem, endOfFailure, readChildRequest, referringToCall } from '../../src/core/activity-requests/child-requests.ts';
import type { ChildEffects, ChildEnd } from '../../src/core/children/child-effects.ts';
import { followChild } from '../../src/core/children/follow-child.ts';
import type { ChildCall, ChildOutcome, ChildStart } from '../../src/core/domain/children.ts';
import { summaryText } from '../../src/core/domain/text.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import { DEFAULT_CHILD_CHECK_MS, openingText } from '../../src/core/domain/run-input.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import {
  AGENT_RUN,
  PROGRAM_RUN,
  type ReportEndInput,
  SEARCH_ATTRIBUTES,
  SIGNALS,
  type StartedAgainInput,
} from '../../src/core/protocol.ts';
import type { LiveRun } from '../run/live-run.ts';
import { scheduleActivity } from '../run/schedule-activity.ts';
import { interruptTurn, sendNext } from './kept-sessions.ts';
import { cancelRun, signalRun } from './other-runs.ts';
import { noteStarted } from './pause-children.ts';

type RunWorkflow = (input: object) => Promise<RunResultFields>;

/** Runs a child, or waits for one that an earlier execution has started. Never rejects. */
export function runChild(run: LiveRun, call: ChildCall): Promise<ChildOutcome> {
  const scope = CancellationScope.current();
  const { childCheckMs = DEFAULT_CHILD_CHECK_MS } = run.snapshot?.timing ?? {};
  return CancellationScope.nonCancellable(async () => {
    try {
      return await followChild(
        childEffects(run, call, () => scope.consideredCancelled),
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

function childEffects(run: LiveRun, { runId, of, turn }: ChildCall, isCancelled: () => boolean): ChildEffects {
  let end = turn === undefined ? undefined : run.keptEnds?.get(runId);
  const noteEnd = (ended: ChildEnd): void => {
    end = ended;
    if (turn !== undefined) (run.keptEnds ??= new Map()).set(runId, ended);
  };
  return {
    start: async (whole) => {
      // A command that is too large would fail the workflow task repeatedly.
      const problem = childProblem(whole);
      if (problem !== undefined) return problem;
      const start = referringToCall(whole, of);
      try {
        const child = await startAlone(run, { runId, start, isCancelled });
        child.result().then(
          (result) => noteEnd({ type: 'ended', result }),
          (error: unknown) => noteEnd(endOfFailure(error)),
        );
        noteStarted(run, runId);
        // An earlier run of the same id may have told of itself. A session may have answered already.
        if (turn === undefined) run.inbox.forgetChild(runId);
        return undefined;
      } catch (error) {
        return error instanceof WorkflowExecutionAlreadyStartedError ? takenProblem(runId) : errorMessage(error);
      }
    },
    sendNext: (next) => sendNext(run, { runId, ...(of === undefined ? {} : { of }) }, next),
    end: () => end,
    hasReported: () => run.inbox.hasChildEnded(runId),
    isCancelled,
    tell: () => signalRun<ReportEndInput>(runId, SIGNALS.reportEnd, { to: run.runId }),
    cancel: () => (turn === undefined ? cancelRun(runId) : interruptTurn(runId, turn)),
    read: (options) => scheduleActivity(run, readChildRequest({ runId, ...(turn === undefined ? {} : { turn }), ...options })),
    wait: async (isMet, deadline) => {
      if (deadline === undefined) await condition(isMet);
      else if (deadline.at > Date.now()) await condition(isMet, deadline.at - Date.now(), { summary: deadline.summary });
    },
    now: () => Date.now(),
  };
}

/** The first wait for the end of a run that has the id of a child, and the longest. Each one is twice as long as the one before. */
const ID_WAIT_MS = { first: 1_000, last: 32_000 };

/**
 * Starts a child. A run that has its id already may be the child of a run that was terminated and started again under the same
 * id: it is told so, cancels itself, and is waited for. Throws WorkflowExecutionAlreadyStartedError if it goes on.
 */
async function startAlone(
  run: LiveRun,
  { runId, start, isCancelled }: { runId: string; start: ChildStart; isCancelled: () => boolean },
): Promise<ChildWorkflowHandle<RunWorkflow>> {
  const { firstExecutionRunId: firstRunId } = workflowInfo();
  for (let waitMs = ID_WAIT_MS.first; ; waitMs *= 2) {
    try {
      return await startInTurn(run, start, () => startRun(runId, withFirstRun(start, firstRunId)));
    } catch (error) {
      if (!(error instanceof WorkflowExecutionAlreadyStartedError) || waitMs > ID_WAIT_MS.last) throw error;
    }
    await signalRun<StartedAgainInput>(runId, SIGNALS.startedAgain, { runId: run.runId, firstRunId });
    await condition(isCancelled, waitMs, { summary: 'end of an earlier run with the id of the child' });
    if (isCancelled()) throw new TypeError('the run was cancelled before its child could start');
  }
}

function withFirstRun(start: ChildStart, firstRunId: string): ChildStart {
  const { parent } = start.input;
  if (parent === undefined) return start;
  const named = { ...parent, firstRunId };
  if (start.kind === 'agent') return { ...start, input: { ...start.input, parent: named } };
  return { ...start, input: { ...start.input, parent: named } };
}

function takenProblem(runId: string): string {
  return `a run "${runId}" goes on already, which another run than this one started: cancel it, or start this one under another run id`;
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
    ...attributesOfPrincipal(),
  });
}

/** Returns the search attributes of the principal, which a child has from its parent: the workflow does not know the key that hashes users. */
function attributesOfPrincipal(): { typedSearchAttributes?: SearchAttributePair[] } {
  const own: readonly string[] = [SEARCH_ATTRIBUTES.tenant, SEARCH_ATTRIBUTES.user];
  const pairs = workflowInfo()
    .typedSearchAttributes.getAll()
    .filter(({ key }) => own.includes(key.name));
  return pairs.length === 0 ? {} : { typedSearchAttributes: pairs };
}

function summaryOf(start: ChildStart): string {
  if (start.kind === 'agent') return `${start.input.agent}: ${openingText(start.input)}`;
  const { program } = start.input;
  return typeof program === 'string' ? program : program.name;
}

/** Bytes of the inputs of children that one workflow task may start: its commands are one message of at most 4 MB. */
const MAX_STARTING_BYTES = 1_500_000;

/** Starts a child once there is room for its input among those that are being started. */
async function startInTurn<Child>(run: LiveRun, { input }: ChildStart, start: () => Promise<Child>): Promise<Child> {
  const bytes = jsonBytes(input);
  const hasRoom = (): boolean => (run.startingBytes ?? 0) === 0 || (run.startingBytes ?? 0) + bytes <= MAX_STARTING_BYTES;
  // Several may wait, and each start takes room from the others.
  while (!hasRoom()) await condition(hasRoom);
  run.startingBytes = (run.startingBytes ?? 0) + bytes;
  try {
    return await start();
  } finally {
    run.startingBytes -= bytes;
  }
}
