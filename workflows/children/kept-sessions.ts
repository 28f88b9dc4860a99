import { CancellationScope } from '@temporalio/workflow';
import type { ChildCall, KeptAgent, NextTurnInput } from '../../src/core/domain/children.ts';
import type { CloseInput, InterruptInput } from '../../src/core/domain/sessions.ts';
import { SIGNALS } from '../../src/core/protocol.ts';
import { ENDED_SESSION, messageOfCall, messageProblem } from '../../src/core/activity-requests/child-requests.ts';
import type { MessageProblem } from '../../src/core/children/child-effects.ts';
import type { LiveRun } from '../run/live-run.ts';
import { signalRun } from './other-runs.ts';
import { noteStarted } from './pause-children.ts';

/** Sends a session that the run keeps its next message. Returns the problem if it does not arrive. */
export async function sendNext(
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

/** Interrupts a turn of a session that the run keeps. The session goes on. */
export async function interruptTurn(runId: string, turn: number): Promise<void> {
  await signalRun<InterruptInput>(runId, SIGNALS.interrupt, { turn, reason: 'the call that waited for the answer was given up' });
}

/** Closes sessions that a run keeps. A running turn ends first. */
export async function closeKept(kept: readonly KeptAgent[] = []): Promise<void> {
  if (kept.length === 0) return;
  await CancellationScope.nonCancellable(() => Promise.all(kept.map(({ runId }) => signalRun<CloseInput>(runId, SIGNALS.close, {}))));
}
