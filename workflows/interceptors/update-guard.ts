import type { ActivateInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { type ActivationContents, JoinedTasks } from '../../src/core/handlers/joined-tasks.ts';

/** One instance for each execution: module state belongs to one execution. */
const tasks = new JoinedTasks();

/**
 * True if an Update that arrives now must be refused, so that its caller sends it again: accepting it could make the
 * execution impossible to replay. See docs/decisions/updates-of-an-execution-just-loaded.md.
 */
export function refusesUpdates(): boolean {
  return tasks.refusesUpdates;
}

/** Registered by the worker as a workflow module. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      activate(input, next) {
        const { jobs } = input.activation;
        if (jobs?.every(({ queryWorkflow }) => !queryWorkflow) !== false)
          tasks.activated(broughtBy(input), jobs?.filter(({ resolveActivity }) => resolveActivity?.isLocal).length ?? 0);
        next(input);
      },
      concludeActivation(input, next) {
        tasks.concluded(input.commands.filter(({ scheduleLocalActivity }) => scheduleLocalActivity).length);
        return next(input);
      },
    },
  ],
});

function broughtBy({ activation }: ActivateInput): ActivationContents {
  const jobs = activation.jobs ?? [];
  const updates = jobs.filter(({ doUpdate }) => doUpdate).length;
  return {
    isReplaying: activation.isReplaying ?? false,
    historyLength: activation.historyLength ?? 0,
    hasUpdate: updates > 0,
    hasStart: jobs.some(({ initializeWorkflow }) => initializeWorkflow),
    hasOthers: jobs.length > updates,
  };
}
