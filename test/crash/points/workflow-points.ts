import { proxySinks, type Sinks, workflowInfo, type WorkflowInterceptorsFactory } from '@temporalio/workflow';
import { decodedValue } from '../../../workflows/run/schedule-activity.ts';
import {
  activityPoint,
  BEGIN,
  CONTINUE,
  CONTINUED,
  END,
  executionName,
  ofTopRun,
  queryPoint,
  signalPoint,
  TASK_TIMEOUT_MS,
  timerPoint,
  updatePoint,
} from './points.ts';

/**
 * Reports to the worker the points that a run reaches, from inside the sandbox. A call of a sink arrives after the workflow
 * code has run and before the task is answered: a process that dies then has lost the task.
 */
export interface CrashSinks extends Sinks {
  crash: { reached(point: string): void };
}

const { crash } = proxySinks<CrashSinks>();

function reportOnce(done: Promise<unknown>, point: string): void {
  done.then(
    () => crash.reached(point),
    () => undefined,
  );
}

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
        crash.reached(updatePoint(input.name, decodedValue(input.args[0])));
        return next(input);
      },
      handleSignal(input, next) {
        crash.reached(signalPoint(input.signalName));
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
      async startTimer(input, next) {
        const timer = timerPoint(input.options?.summary ?? '');
        crash.reached(timer);
        await next(input);
        crash.reached(activityPoint('told', timer));
      },
      async startChildWorkflowExecution(input, next) {
        const child = `child ${ofTopRun(input.options.workflowId ?? '', '').path}`;
        crash.reached(activityPoint('before', child));
        const [started, ended] = await next({ ...input, options: { ...input.options, workflowTaskTimeout: TASK_TIMEOUT_MS } });
        reportOnce(started, activityPoint('after', `start of ${child}`));
        reportOnce(ended, activityPoint('told', child));
        return [started, ended];
      },
      continueAsNew(input, next) {
        crash.reached(CONTINUE);
        return next(input);
      },
    },
  ],
});
