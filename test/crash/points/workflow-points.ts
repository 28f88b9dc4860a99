import { proxySinks, type Sinks, workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { activityPoint, BEGIN, CONTINUE, CONTINUED, END, executionName, queryPoint, updatePoint } from './points.ts';

/**
 * Reports to the worker the points that a run reaches, from inside the sandbox. A call of a sink arrives after the workflow
 * code has run and before the task is answered: a process that dies then has lost the task.
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
