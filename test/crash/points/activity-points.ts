import { activityInfo } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { AsyncLocalStorage } from 'node:async_hooks';
import { activityPoint, executionName, ofTopRun } from './points.ts';

/** The execution of an activity, by the run at the top and the point at which that has read its result. */
interface Execution {
  runId: string;
  told: string;
  /** Reports that one of its models has failed, and the next one is about to be asked. */
  movesOn: () => void;
}

const executions = new AsyncLocalStorage<Execution>();

/** The execution that the caller is a part of. */
export function currentExecution(): Execution | undefined {
  return executions.getStore();
}

/** Reports the points that the activities of a workflow reach. */
export function activityPoints(reached: (workflowId: string, point: string) => void): ActivityInterceptorsFactory {
  return () => ({
    inbound: {
      async execute(input, next) {
        const { activityType, workflowExecution } = activityInfo();
        const workflowId = workflowExecution?.workflowId ?? '';
        const execution = executionName(activityType, input.args[0]);
        const { runId, point: told } = ofTopRun(workflowId, activityPoint('told', execution));
        reached(workflowId, activityPoint('before', execution));
        const movesOn = (): void => reached(workflowId, activityPoint('between', execution));
        const output: unknown = await executions.run({ runId, told, movesOn }, () => next(input));
        reached(workflowId, activityPoint('after', execution));
        return output;
      },
    },
  });
}
