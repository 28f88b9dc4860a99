import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { type ActivateInput, type ConcludeActivationInput, workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { type ActivationPosition, TaskDoubt } from '../../src/core/queries/task-doubt.ts';
import { ASK_AGAIN, type QueryingActivity } from '../../src/core/protocol.ts';

/*
 * A query to an execution that is not in the worker's cache makes the worker replay its history up to now, newest
 * events included. Events that no workflow task has handled yet are thereby handled too early: the resulting commands
 * are kept, and sent with the next workflow task, whose Updates and Signals then come after them. A replay delivers all
 * them all at once, in another order, and can never repeat what was recorded: the execution is stuck forever.
 *
 * Only the query itself can undo this: a failing activation makes the worker evict the execution, and fails nothing but
 * the query, which its caller repeats. See docs/decisions/queries-never-advance-a-run.md.
 *
 * A query may also arrive while the server has not answered a workflow task that ends the execution. The server refuses such an
 * end if it has received an event meanwhile, and the task is repeated with that event. Such a query is repeated as well.
 */

/** The id that the worker gives to a query without a workflow task. */
const LONE_QUERY = 'legacy_query';

/** Registered by the worker as a workflow module: created for each execution that the worker loads. */
export const interceptors: WorkflowInterceptorsFactory = () => {
  const doubt = new TaskDoubt(() => workflowInfo().unsafe.now());
  let isQuery = false;
  return {
    inbound: [
      {
        async handleQuery(input, next) {
          if (doubt.isEnding) throw new RepeatQueryError('is ending, which the server has not recorded yet');
          return next(input);
        },
      },
    ],
    internals: [
      {
        activate(input, next) {
          const query = input.activation.jobs?.find(({ queryWorkflow }) => queryWorkflow)?.queryWorkflow;
          isQuery = query !== undefined;
          if (query?.queryId === LONE_QUERY && doubt.refuses(queryingActivity(query.arguments?.[1]))) throw new RepeatQueryError(UNHANDLED);
          if (isQuery) doubt.answered();
          // Signals come first, in a separate activation that the worker does not count.
          else if (input.batchIndex === 0) doubt.activated(placeOf(input));
          next(input);
        },
        concludeActivation(input, next) {
          const { commands } = input;
          if (!isQuery) {
            const activityIds = commands.map(({ scheduleActivity }) => scheduleActivity?.activityId ?? '');
            doubt.concluded(activityIds, { ends: commands.some(isEnd) });
          }
          return next(input);
        },
      },
    ],
  };
};

/** True for a command that ends an execution. Only these are refused by the server for events that arrived meanwhile. */
function isEnd(command: ConcludeActivationInput['commands'][number]): boolean {
  const { completeWorkflowExecution, continueAsNewWorkflowExecution, failWorkflowExecution, cancelWorkflowExecution } = command;
  return Boolean(completeWorkflowExecution ?? continueAsNewWorkflowExecution ?? failWorkflowExecution ?? cancelWorkflowExecution);
}

function placeOf({ activation }: ActivateInput): ActivationPosition {
  const { isReplaying, historyLength, timestamp, jobs } = activation;
  return {
    isReplaying: isReplaying ?? false,
    historyLength: historyLength ?? 0,
    taskTime: `${timestamp?.seconds?.toString()}.${timestamp?.nanos}`,
    hasNews: (jobs ?? []).some(isNews),
  };
}

type Job = NonNullable<ActivateInput['activation']['jobs']>[number];

function isNews({ signalWorkflow, doUpdate, fireTimer, cancelWorkflow, resolveActivity, resolveChildWorkflowExecution }: Job): boolean {
  if (signalWorkflow || doUpdate || fireTimer || cancelWorkflow) return true;
  if (resolveActivity) return !resolveActivity.isLocal && !resolveActivity.result?.cancelled;
  return resolveChildWorkflowExecution ? !resolveChildWorkflowExecution.result?.cancelled : false;
}

function queryingActivity(argument: Payload | null | undefined): string | undefined {
  if (!argument) return undefined;
  try {
    return defaultPayloadConverter.fromPayload<Partial<QueryingActivity> | null>(argument)?.activityId;
  } catch {
    return undefined;
  }
}

const UNHANDLED = 'has just got events that no workflow task has handled yet. If it has ended, only its history shows them';

/** Asks the caller to repeat the query. It has no stack, because the worker's log and the Temporal UI would show it. */
class RepeatQueryError extends Error {
  constructor(why: string) {
    super(`${ASK_AGAIN}: workflow "${workflowInfo().workflowId}" ${why}`);
    this.name = 'RepeatQueryError';
    // Node would prepend the throwing line to a writable stack.
    Object.defineProperty(this, 'stack', { value: this.message, writable: false });
  }
}
