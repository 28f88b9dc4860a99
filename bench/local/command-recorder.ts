import { proxySinks, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import type { CommandSinks } from './protocol.ts';

const { bench } = proxySinks<CommandSinks>();

/** Tells the worker when a workflow has asked for activities. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  internals: [
    {
      concludeActivation(input, next) {
        const asked = input.commands.filter((one) => one.scheduleActivity ?? one.scheduleLocalActivity).length;
        if (asked > 0) bench.commands(asked);
        return next(input);
      },
    },
  ],
});
