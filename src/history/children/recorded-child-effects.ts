import {
  childProblem,
  ENDED_SESSION,
  endOfFailure,
  messageProblem,
  readChild,
  readChildFailure,
} from '../../core/activity-requests/child-requests.ts';
import { errorMessage } from '../../core/domain/errors.ts';
import type { ChildCall } from '../../core/domain/children.ts';
import type { ChildEffects } from '../../core/loop/children.ts';
import { childOf } from './recorded-child.ts';
import type { RecordedExecution } from '../recorded-execution.ts';
import type { RecordedTasks } from '../recorded-tasks.ts';

/** The number of requests about a child that the run which is read back has made. */
export interface UsedRequests {
  nextTurns: number;
  interrupts: number;
  reads: number;
}

/** Returns the effects of the wait for a child of a run that is read back. */
export function recordedChildEffects(
  recorded: RecordedExecution,
  tasks: RecordedTasks,
  { runId, turn }: ChildCall,
  used: UsedRequests,
): ChildEffects {
  const child = childOf(recorded, runId);
  const waited = { isWaitedFor: true };
  return {
    start: async (start) => {
      const problem = childProblem(start);
      if (problem !== undefined) return problem;
      const { failure } = await tasks.endOf(child.started, { ...waited, isNeverRefused: true });
      if (failure === undefined && turn === undefined) tasks.inbox.forgetChild(runId);
      return failure === undefined ? undefined : errorMessage(failure);
    },
    sendNext: async (next) => {
      const problem = messageProblem(next);
      if (problem !== undefined) return problem;
      const { failure } = await tasks.endOf(child.nextTurns[used.nextTurns++], { ...waited, isNeverRefused: true });
      return failure === undefined ? undefined : ENDED_SESSION;
    },
    end: () => {
      const { closed } = child;
      if (closed === undefined || (closed.task ?? Infinity) > tasks.number) return undefined;
      const { output, failure } = closed;
      return output === undefined ? endOfFailure(failure) : { type: 'ended', result: output };
    },
    hasReported: () => tasks.inbox.hasChildEnded(runId),
    isCancelled: () => tasks.cancelRequested(),
    tell: async () => (await tasks.endOf(child.told, { ...waited, isNeverRefused: true })).failure === undefined,
    cancel: async () => {
      const request = turn === undefined ? child.cancelled : child.interrupts[used.interrupts++];
      await tasks.endOf(request, { ...waited, isNeverRefused: true });
    },
    read: async () => {
      const ended = await tasks.endOf(child.reads[used.reads++], { ...waited, isNeverRefused: true });
      return ended.failure === undefined ? readChild(ended.output) : readChildFailure(ended.failure);
    },
    wait: (isMet, deadline) => tasks.untilMet(isMet, deadline?.at),
    now: () => tasks.now(),
  };
}
