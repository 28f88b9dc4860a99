import { activityInfo } from '@temporalio/activity';
import type { ActivityInterceptorsFactory, NativeConnection } from '@temporalio/worker';
import { AsyncLocalStorage } from 'node:async_hooks';
import { ACTIVITIES } from '../../../src/core/protocol.ts';
import { withAroundCalls } from '../../../activities/bursts/around-calls.ts';
import { activityPoint, executionName, ofTopRun, storedPoint } from './points.ts';

/** The execution of an activity, by the root run and the point where the root has read its result. */
interface Execution {
  runId: string;
  told: string;
  /** Reports that one of its models has failed, and the next one is about to be called. */
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
        const around = async (name: string, given: unknown, act: () => Promise<unknown>): Promise<unknown> => {
          const execution = executionName(name, given);
          const { runId, point: told } = ofTopRun(workflowId, activityPoint('told', execution));
          reached(workflowId, activityPoint('before', execution));
          const movesOn = (): void => reached(workflowId, activityPoint('between', execution));
          const output = await executions.run({ runId, told, movesOn }, act);
          reached(workflowId, activityPoint('after', execution));
          return output;
        };
        const work = (): Promise<unknown> => around(activityType, input.args[0], () => next(input));
        if (activityType !== ACTIVITIES.runBurst) return work();
        return withAroundCalls((call, make) => around(call.name, call.input, make), work);
      },
    },
  });
}

/**
 * Reports the checkpoints of bursts as soon as the server has acknowledged one: a worker that is killed then has lost the acknowledgement of
 * what the server has.
 */
export function watchCheckpoints({ workflowService }: NativeConnection, reached: (workflowId: string, point: string) => void): void {
  const record = workflowService.recordActivityTaskHeartbeat.bind(workflowService);
  const recordAndReport = async (request: Parameters<typeof record>[0]): Promise<Awaited<ReturnType<typeof record>>> => {
    const answer = await record(request);
    const stored = storedPoint(request.details?.payloads?.[0]?.data ?? new Uint8Array());
    if (stored !== undefined) reached(activityInfo().workflowExecution?.workflowId ?? '', stored);
    return answer;
  };
  Object.assign(workflowService, { recordActivityTaskHeartbeat: recordAndReport });
}
