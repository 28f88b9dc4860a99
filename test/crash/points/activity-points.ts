import { KILLED, activityPoint, executionName, ofTopRun, storedPoint } from './points.ts';
import { activityInfo } from '@temporalio/activity';
import type { ActivityInterceptorsFactory, NativeConnection } from '@temporalio/worker';
import { AsyncLocalStorage } from 'node:async_hooks';
import { ACTIVITIES } from '../../../src/core/protocol.ts';
import { withAroundCalls } from '../../../activities/bursts/around-calls.ts';

/** A process to kill at a point of a run, once. */
export interface Kill {
  runId: string;
  point: string;
  /** The id of the process: this one, or the server. */
  victim: number;
}

/** After this many milliseconds another process is dead, and its sockets are closed. */
const DYING_MS = 30;

/** Kills a process when a run reaches a point. Used in the worker process. */
export class CrashTrigger {
  readonly #log: (runId: string, point: string) => void;
  #kill: Kill | undefined;

  /** `log`: records every point that is reached. */
  constructor(log: (runId: string, point: string) => void) {
    this.#log = log;
  }

  /** Sets the next kill, in place of the one before. */
  arm(kill: Kill | undefined): void {
    this.#kill = kill;
  }

  /**
   * Reports that a run is at a point. If it is the point of the kill, the victim is dead when this returns, unless it is this
   * process.
   */
  reached(runId: string, point: string): void {
    this.#log(runId, point);
    const kill = this.#kill;
    if (kill?.runId !== runId || kill.point !== point) return;
    this.#kill = undefined;
    this.#log(runId, KILLED);
    process.kill(kill.victim, 'SIGKILL');
    // No later command may reach a server that is dying.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, DYING_MS);
  }
}

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
