import type { ActivateInput, WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { type ActivationContents, JoinedTasks } from '../../src/core/handlers/joined-tasks.ts';

/** One for each execution that a worker loads: module state belongs to one execution. */
const tasks = new JoinedTasks();

/** True if an Update that comes now must be refused, to be sent again: accepted, it could make the execution one that no worker can replay. See docs/decisions/updates-of-an-execution-just-loaded.md. */
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
