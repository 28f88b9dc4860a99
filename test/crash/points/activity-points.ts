import { activityInfo } from '@temporalio/activity';
import type { ActivityInterceptorsFactory } from '@temporalio/worker';
import { activityPoint, executionName } from './points.ts';

/** Reports the points that the activities of a run reach. */
export function activityPoints(reached: (runId: string, point: string) => void): ActivityInterceptorsFactory {
  return () => ({
    inbound: {
      async execute(input, next) {
        const { activityType, workflowExecution } = activityInfo();
        const runId = workflowExecution?.workflowId ?? '';
        const execution = executionName(activityType, input.args[0]);
        reached(runId, activityPoint('before', execution));
        const output: unknown = await next(input);
        reached(runId, activityPoint('after', execution));
        return output;
      },
    },
  });
}
