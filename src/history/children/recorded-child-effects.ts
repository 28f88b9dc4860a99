import { endOfFailure, readChild, readChildFailure, childProblem } from '../../core/activity-requests/child-requests.ts';
import { errorMessage } from '../../core/domain/errors/error.ts';
import type { ChildEffects } from '../../core/children/child-effects.ts';
import { childOf } from './recorded-child.ts';
import type { RecordedExecution } from '../recorded-execution.ts';
import type { RecordedTasks } from '../recorded-tasks.ts';

/** Returns the effects of the wait for a child of a run that is read back. */
export function recordedChildEffects(recorded: RecordedExecution, tasks: RecordedTasks, runId: string): ChildEffects {
  const child = childOf(recorded, runId);
  const waited = { isWaitedFor: true };
  let reads = 0;
  return {
    start: async (start) => {
      const problem = childProblem(start);
      if (problem !== undefined) return problem;
      const { failure } = await tasks.endOf(child.started, { ...waited, isNeverRefused: true });
      if (failure === undefined) tasks.inbox.forgetChild(runId);
      return failure === undefined ? undefined : errorMessage(failure);
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
      await tasks.endOf(child.cancelled, { ...waited, isNeverRefused: true });
    },
    read: async () => {
      const ended = await tasks.endOf(child.reads[reads++], { ...waited, isNeverRefused: true });
      return ended.failure === undefined ? readChild(ended.output) : readChildFailure(ended.failure);
    },
    wait: (isMet, deadline) => tasks.untilMet(isMet, deadline?.at),
    now: () => tasks.now(),
  };
}
