import { proxySinks, type Sinks, workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { activityPoint, BEGIN, CONTINUE, CONTINUED, END, executionName, queryPoint, updatePoint } from './points.ts';

/**
 * Tells the worker which points a run comes to, from inside the sandbox. What a sink is told arrives when the code of
 * the workflow has come to rest, and before the task is answered: whoever dies then has lost the task.
 */
export interface CrashSinks extends Sinks {
  crash: { reached(point: string): void };
}

const { crash } = proxySinks<CrashSinks>();

/** Bundled with the workflows that the crash matrix runs. */
export const interceptors: WorkflowInterceptorsFactory = () => ({
  inbound: [
    {
      async execute(input, next) {
        crash.reached(workflowInfo().continuedFromExecutionRunId === undefined ? BEGIN : CONTINUED);
        const result = await next(input);
        crash.reached(END);
        return result;
      },
      handleUpdate(input, next) {
        crash.reached(updatePoint(input.name));
        return next(input);
      },
      handleQuery(input, next) {
        crash.reached(queryPoint(input.queryName));
        return next(input);
      },
    },
  ],
  outbound: [
    {
      async scheduleActivity(input, next) {
        const output = await next(input);
        crash.reached(activityPoint('told', executionName(input.activityType, input.args[0])));
        return output;
      },
      async scheduleLocalActivity(input, next) {
        const output = await next(input);
        crash.reached(activityPoint('told', executionName(input.activityType, input.args[0])));
        return output;
      },
      continueAsNew(input, next) {
        crash.reached(CONTINUE);
        return next(input);
      },
    },
  ],
});
