import { proxySinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { getActivator } from '@temporalio/workflow/lib/global-attributes.js';
import type { CommandSinks } from './command-clock.ts';

const { bench } = proxySinks<CommandSinks>();

/**
 * Notifies the worker when a workflow has scheduled activities: by the clock that the SDK uses for log lines, the only real one in the
 * sandbox.
 */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      concludeActivation(input, next) {
        const isAsking = input.commands.some((one) => one.scheduleActivity ?? one.scheduleLocalActivity);
        if (isAsking) bench.asked(Number(getActivator().getTimeOfDay()) / 1e6);
        return next(input);
      },
    },
  ],
});
