import { type SearchAttributePair, WorkflowExecutionAlreadyStartedError } from '@temporalio/common';
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  type ChildWorkflowHandle,
  condition,
  getExternalWorkflowHandle,
  ParentClosePolicy,
  sleep,
  startChild,
  workflowInfo,
} from '@temporalio/workflow';
import {
  checkParentRequest,
  childProblem,
  ENDED_SESSION,
  endOfFailure,
  messageOfCall,
  messageProblem,
  readChildRequest,
  referringToCall,
} from '../../src/core/activity-requests/child-requests.ts';
import type { AgentSnapshot } from '../../src/core/domain/agent.ts';
import { jsonBytes } from '../../src/core/domain/byte-budgets.ts';
import {
  askedBy,
  type ChildCall,
  type ChildEnd,
  type ChildOutcome,
  type ChildStart,
  type KeptAgent,
  type MessageProblem,
  type NextTurnInput,
  type ReadChild,
} from '../../src/core/domain/children.ts';
import { defined } from '../../src/core/domain/json.ts';
import { errorMessage } from '../../src/core/domain/errors.ts';
import type { RunResultFields } from '../../src/core/domain/result.ts';
import { DEFAULT_CHILD_CHECK_MS, openingText, parentOf, type ParentRun } from '../../src/core/domain/run-input.ts';
import { isTerminal } from '../../src/core/domain/run.ts';
import { type CloseInput, type InterruptInput, sessionOf } from '../../src/core/domain/sessions.ts';
import { summaryText } from '../../src/core/domain/text.ts';
import {
  agentsOfCalls,
  areChildrenPaused,
  type ChildEffects,
  childrenOf,
  childrenWaiting,
  END_WAIT_MS,
  followChild,
  forgetChild,
  hasChildEnded,
  keptAgents,
  mayHaveChildren,
  noteChildrenPaused,
  notifiedOnEnd,
  spendChild,
} from '../../src/core/capabilities/children/children.ts';
import { countsOf } from '../../src/core/kernel/run-loop.ts';
import type { RunState } from '../../src/core/kernel/run-state.ts';
import {
  AGENT_RUN,
  type ChildEndedInput,
  type ChildWaitingInput,
  type NotifyOnEndInput,
  type PausedByParentInput,
  PROGRAM_RUN,
  SEARCH_ATTRIBUTES,
  SIGNALS,
  type StartedAgainInput,
} from '../../src/core/protocol.ts';
import { AGENT } from '../visibility.ts';
import type { LiveRun } from './live-run.ts';
import { scheduleActivity } from './schedule-activity.ts';

type RunWorkflow = (input: object) => Promise<RunResultFields>;

/** Runs a child, or waits for one that an earlier execution started. Never rejects. */
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
  const asked = askedBy(turn, of);
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
        // An earlier run with the same id may have sent a signal. A session may already have answered.
        if (turn === undefined) forgetChild(run.inbox, runId);
        return undefined;
      } catch (error) {
        return error instanceof WorkflowExecutionAlreadyStartedError ? takenProblem(runId) : errorMessage(error);
      }
    },
    sendNext: (next) => sendNext(run, { runId, ...defined({ of }) }, next),
    end: () => end,
    hasReported: () => hasChildEnded(run.inbox, runId),
    isCancelled,
    tell: () => signalRun<NotifyOnEndInput>(runId, SIGNALS.notifyOnEnd, { to: run.runId }),
    cancel: () => (turn === undefined ? cancelRun(runId) : interruptTurn(runId, { turn, ...asked })),
    read: (options) => scheduleActivity(run, readChildRequest({ runId, ...defined({ turn }), ...asked, ...options })),
    wait: async (isMet, deadline) => {
      if (deadline === undefined) await condition(isMet);
      else if (deadline.at > Date.now()) await condition(isMet, deadline.at - Date.now(), { summary: deadline.summary });
    },
    now: () => Date.now(),
  };
}

/** The first and longest wait for the end of a run that has the id of a child. The wait doubles each time. */
const ID_WAIT_MS = { first: 1_000, last: 32_000 };

/**
 * Starts a child. An existing run with its id may be the child of a run that was terminated and started again under the same
 * id: it is notified, cancels itself, and is awaited. Throws WorkflowExecutionAlreadyStartedError if it continues.
 */
async function startAlone(
  run: LiveRun,
  { runId, start, isCancelled }: { runId: string; start: ChildStart; isCancelled: () => boolean },
): Promise<ChildWorkflowHandle<RunWorkflow>> {
  const { firstExecutionRunId: firstRunId } = workflowInfo();
  for (let waitMs = ID_WAIT_MS.first; ; waitMs *= 2) {
    try {
      return await startInTurn(run, start, () => startRun(run, runId, withFirstRun(start, firstRunId)));
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
  return `a run "${runId}" is already running, which another run than this one started: cancel it, or start this one under another run id`;
}

/**
 * Starts the workflow of a child. The server also applies the close policy of a child when its parent continues as new: with
 * any policy but ABANDON, the child would end then.
 */
function startRun({ snapshot }: LiveRun, runId: string, start: ChildStart): Promise<ChildWorkflowHandle<RunWorkflow>> {
  return startChild<RunWorkflow>(start.kind === 'agent' ? AGENT_RUN : PROGRAM_RUN, {
    args: [start.input],
    workflowId: runId,
    cancellationType: ChildWorkflowCancellationType.ABANDON,
    parentClosePolicy: ParentClosePolicy.ABANDON,
    staticSummary: summaryText(summaryOf(start)),
    ...attributesOf(nameOf(start), snapshot),
  });
}

/**
 * Returns the search attributes of a child: its name, if the namespace has the attribute, and the parent's attributes of the principal,
 * since the workflow does not know the key that hashes users.
 */
function attributesOf(name: string, snapshot: AgentSnapshot | undefined): { typedSearchAttributes?: SearchAttributePair[] } {
  const ofPrincipal: readonly string[] = [SEARCH_ATTRIBUTES.tenant, SEARCH_ATTRIBUTES.user];
  const pairs = [
    ...(snapshot?.searchAttributes ? [{ key: AGENT, value: name }] : []),
    ...workflowInfo()
      .typedSearchAttributes.getAll()
      .filter(({ key }) => ofPrincipal.includes(key.name)),
  ];
  return pairs.length === 0 ? {} : { typedSearchAttributes: pairs };
}

function summaryOf(start: ChildStart): string {
  return start.kind === 'agent' ? `${start.input.agent}: ${openingText(start.input)}` : nameOf(start);
}

/** Returns the name of the agent or the program. */
function nameOf(start: ChildStart): string {
  if (start.kind === 'agent') return start.input.agent;
  const { program } = start.input;
  return typeof program === 'string' ? program : program.name;
}

/** The most input bytes of children that one workflow task may start: its commands are one message of at most 4 MB. */
const MAX_STARTING_BYTES = 1_500_000;

/** Starts a child once there is room for its input among the children being started. */
async function startInTurn<Child>(run: LiveRun, { input }: ChildStart, start: () => Promise<Child>): Promise<Child> {
  const bytes = jsonBytes(input);
  const hasRoom = (): boolean => (run.startingBytes ?? 0) === 0 || (run.startingBytes ?? 0) + bytes <= MAX_STARTING_BYTES;
  // Several may wait, and each start takes room, so the condition is checked again.
  while (!hasRoom()) await condition(hasRoom);
  run.startingBytes = (run.startingBytes ?? 0) + bytes;
  try {
    return await start();
  } finally {
    run.startingBytes -= bytes;
  }
}

/** Sends the next message to a kept session. Returns the problem if it does not arrive. */
async function sendNext(
  run: LiveRun,
  { runId, of }: Pick<ChildCall, 'runId' | 'of'>,
  next: NextTurnInput,
): Promise<MessageProblem | undefined> {
  const problem = messageProblem(next);
  if (problem !== undefined) return problem;
  if (!(await signalRun<NextTurnInput>(runId, SIGNALS.nextTurn, messageOfCall(next, of)))) return ENDED_SESSION;
  noteStarted(run, runId);
  return undefined;
}

/** Interrupts a turn of a kept session. The session continues. */
async function interruptTurn(runId: string, turn: AwaitedTurn): Promise<void> {
  await signalRun<InterruptInput>(runId, SIGNALS.interrupt, { ...turn, reason: 'the call that waited for the answer was given up' });
}

/** Closes all kept sessions of a run. A running turn ends first. */
export async function closeAllKept(state: RunState | undefined): Promise<void> {
  await closeKept(state && keptAgents(state));
}

/** Closes these kept sessions. */
export async function closeKept(kept: readonly KeptAgent[] = []): Promise<void> {
  if (kept.length === 0) return;
  await CancellationScope.nonCancellable(() => Promise.all(kept.map(({ runId }) => signalRun<CloseInput>(runId, SIGNALS.close, {}))));
}

/**
 * Cancels the children that no step waits for because the run ends first, and waits for their ends, for a bounded
 * time. This happens if the run could not continue as new, for example. Returns the result of the run with their usage.
 */
export async function cancelChildren(run: LiveRun, result: RunResultFields): Promise<RunResultFields> {
  const { state } = run;
  if (state === undefined || childrenOf(state).length === 0) return result;
  await endChildren(run, state);
  return { ...result, ...countsOf(state) };
}

/** Cancels the remaining children, waits for their ends for a bounded time, and counts their usage. */
export async function endChildren(run: LiveRun, state: RunState): Promise<void> {
  const left = childrenOf(state);
  if (left.length === 0) return;
  const ends = await CancellationScope.nonCancellable(() =>
    Promise.all(left.map((runId) => cancelChild(run, runId, turnOf(state, runId)))),
  );
  for (const end of ends) if (end.type === 'ended') spendChild(state, end.result);
}

/** A turn of a kept session, and the call that it answers. */
interface AwaitedTurn {
  turn: number;
  call?: string;
}

/** Returns the awaited turn of a kept session. */
function turnOf(state: RunState, runId: string): AwaitedTurn | undefined {
  const child = agentsOfCalls(state).find((one) => one.runId === runId);
  return child?.turn === undefined ? undefined : { turn: child.turn, ...askedBy(child.turn, child) };
}

async function cancelChild(run: LiveRun, runId: string, turn: AwaitedTurn | undefined): Promise<ReadChild> {
  if (turn !== undefined) {
    await interruptTurn(runId, turn);
    const hasEnded = await condition(() => hasChildEnded(run.inbox, runId), END_WAIT_MS);
    return hasEnded ? scheduleActivity(run, readChildRequest({ runId, ...turn })) : { type: 'running' };
  }
  const isTold = await signalRun<NotifyOnEndInput>(runId, SIGNALS.notifyOnEnd, { to: run.runId });
  if (isTold) {
    await cancelRun(runId);
    const hasEnded = await condition(() => hasChildEnded(run.inbox, runId), END_WAIT_MS);
    if (!hasEnded) return { type: 'running' };
  }
  return scheduleActivity(run, readChildRequest({ runId }));
}

/**
 * Pauses and resumes the children together with the run: one signal to each child for each change. A child that has
 * ended needs none. The next execution notifies the children again if this one ends before all of them were notified.
 */
export function pauseChildren(run: LiveRun): void {
  void CancellationScope.nonCancellable(() => tellChanges(run));
}

async function tellChanges(run: LiveRun): Promise<void> {
  const { inbox } = run;
  for (;;) {
    const isChanged = (): boolean => inbox.paused !== areChildrenPaused(inbox) || run.startedPaused !== undefined;
    await condition(() => isChanged() && run.state !== undefined && mayHaveChildren(run.state));
    const { paused } = inbox;
    const told = paused === areChildrenPaused(inbox) ? (run.startedPaused ?? []) : childrenOf(run.state);
    delete run.startedPaused;
    await Promise.all(told.map((runId) => signalRun<PausedByParentInput>(runId, SIGNALS.pausedByParent, { paused })));
    noteChildrenPaused(inbox, paused);
  }
}

/** Records that a child has started: it may have missed that the run is paused. */
function noteStarted(run: LiveRun, runId: string): void {
  if (run.inbox.paused) run.startedPaused = [...(run.startedPaused ?? []), runId];
}

/** Notifies the run that has requested it that this one has ended. Must be the last action before the close: no signal may come between. */
export async function notifyOfEnd(run: LiveRun): Promise<void> {
  const { runId, inbox } = run;
  const to = notifiedOnEnd(inbox);
  if (to === undefined) return;
  await CancellationScope.nonCancellable(() => signalRun<ChildEndedInput>(to, SIGNALS.childEnded, { runId }));
}

/** Notifies a session's keeper of the end of a turn, and waits until the server has delivered the signal. */
export async function reportTurn({ runId }: LiveRun, to: string, turn: Omit<ChildEndedInput, 'runId'>): Promise<void> {
  await CancellationScope.nonCancellable(() => signalRun<ChildEndedInput>(to, SIGNALS.childEnded, { runId, ...turn }));
}

/**
 * Returns a function that notifies the parent when the run begins to wait for a person, and when it no longer does. The
 * previous execution has sent the notification for the carried state.
 */
export function tellsWaiting(run: LiveRun): (state: RunState) => void {
  const { runId, inbox, state: carried } = run;
  const isWaiting = ({ approvals }: RunState): boolean => approvals.pending.length > 0 || childrenWaiting(inbox).length > 0;
  let told = carried !== undefined && isWaiting(carried);
  return (state) => {
    const parent = parentOf(state);
    const waiting = !isTerminal(state.status) && isWaiting(state);
    if (parent === undefined || waiting === told) return;
    told = waiting;
    run.telling += 1;
    void CancellationScope.nonCancellable(async () => {
      await signalRun<ChildWaitingInput>(parent.runId, SIGNALS.childWaiting, { runId, waiting });
      run.telling -= 1;
    });
  };
}

/** Waits until the server has delivered the signals to the parent: it drops the signals of an execution that closes before. */
export async function finishTelling(run: LiveRun): Promise<void> {
  if (run.telling === 0) return;
  await CancellationScope.nonCancellable(() => condition(() => run.telling === 0));
}

/**
 * Periodically checks that the parent is alive, and cancels the run once it is not: a parent that was terminated
 * cancels nothing. Does nothing for a run without a parent.
 */
export function watchParent(run: LiveRun, parent: ParentRun | undefined): void {
  if (parent === undefined) return;
  const watching = parent.kept ? checkDuringTurns(run, parent) : checkUntilEnded(run, parent);
  watching.catch(() => undefined);
}

async function checkUntilEnded(run: LiveRun, parent: ParentRun): Promise<void> {
  for (let checkAt = parent.checkAt ?? 0; ; checkAt = Date.now() + parent.checkMs) {
    noteNextCheck(run, checkAt);
    await sleep(Math.max(1, checkAt - Date.now()), { summary: NEXT_CHECK });
    if (await hasParentEnded(run, parent)) return cancelOrphan(run, parent);
  }
}

/** Checks the keeper of a session only during turns: no timer wakes an idle session. An overdue check happens at the start of a turn. */
async function checkDuringTurns(run: LiveRun, parent: ParentRun): Promise<void> {
  const isIdle = (): boolean => run.state !== undefined && sessionOf(run.state)?.turn === undefined;
  let checkAt = parent.checkAt ?? 0;
  for (;;) {
    await condition(() => !isIdle());
    const waitMs = checkAt - Date.now();
    if (waitMs > 0 && (await condition(isIdle, waitMs, { summary: NEXT_CHECK }))) continue;
    if (await hasParentEnded(run, parent)) return cancelOrphan(run, parent);
    checkAt = Date.now() + parent.checkMs;
    noteNextCheck(run, checkAt);
  }
}

const NEXT_CHECK = 'next check that the parent is alive';

/** Records when the next execution checks the parent. */
function noteNextCheck({ state }: LiveRun, checkAt: number): void {
  const parent = parentOf(state ?? {});
  if (parent !== undefined) parent.checkAt = checkAt;
}

function hasParentEnded(run: LiveRun, parent: ParentRun): Promise<boolean> {
  return scheduleActivity(run, checkParentRequest(parent));
}

function cancelOrphan({ inbox }: LiveRun, { runId }: ParentRun): void {
  inbox.cancelReason ??= `The run "${runId}", which started this one, has ended`;
  inbox.cancelAsked = true;
}

/** Sends a signal to another run. Returns false if that run has ended. */
async function signalRun<Input>(runId: string, name: string, input: Input): Promise<boolean> {
  try {
    await getExternalWorkflowHandle(runId).signal<[Input]>(name, input);
    return true;
  } catch {
    return false;
  }
}

/** Cancels another run, unless it has ended. */
async function cancelRun(runId: string): Promise<void> {
  try {
    await getExternalWorkflowHandle(runId).cancel();
  } catch {
    // It has ended.
  }
}
