import { CancelledFailure } from '@temporalio/common';
import { type ActivityRequest, type MissingOnWorker, missingOnWorker, onAnotherWorker, pauseMs } from './activity-request.ts';
import { isOwnActivity } from './contracts.ts';

/** The parts of a request that start an activity. */
export type ActivityCall<Input> = Pick<ActivityRequest<Input, never, never>, 'name' | 'tier' | 'options' | 'input'>;

/** How activities are started, and what happens around them. */
export interface ActivityHost {
  /** Starts an activity. Rejects with its failure. */
  start<Input, Output>(call: ActivityCall<Input>): Promise<Output>;
  /** Returns the outcome of an activity that has returned this. */
  read<Output, Outcome>(call: Pick<ActivityRequest<never, Output, Outcome>, 'name' | 'returned' | 'failed'>, output: Output): Outcome;
  /** Returns the input with which an activity is performed once more, if what it has returned asks for it. Absent: none does. */
  again?<Input, Output>(call: Pick<ActivityRequest<Input, Output, never>, 'again'>, output: Output): Input | undefined;
  /** Called at each end of an activity. */
  ended(): void;
  isCancelled(): boolean;
  /** Milliseconds since the epoch. */
  now(): number;
  /** Waits. Rejects if it is cancelled. */
  pause(ms: number, summary: string): Promise<unknown>;
  /** Called when an activity begins to wait for a worker that has something, and when it no longer does. */
  waits(missing: MissingOnWorker): void;
  waited(missing: MissingOnWorker): void;
}

/** The thing that an activity waits for, and the number of times it has been rescheduled. */
interface WorkerWait {
  missing: MissingOnWorker;
  times: number;
}

/** Performs an activity, rescheduled for other workers if one lacks something, and returns its outcome. Never rejects. */
export function performActivity<Input, Output, Outcome>(
  host: ActivityHost,
  call: ActivityRequest<Input, Output, Outcome>,
  wait?: WorkerWait,
): Promise<Outcome> {
  const ended = (): void => {
    host.ended();
    if (wait !== undefined) host.waited(wait.missing);
  };
  // Chained on the activity's own promise: in the sandbox every further promise costs a stack trace.
  return host.start<Input, Output>(call).then(
    (output) => {
      ended();
      const again = call.again === undefined ? undefined : host.again?.(call, output);
      return again === undefined ? host.read(call, output) : performActivity(host, { ...call, input: again });
    },
    (error: unknown) => {
      ended();
      const missing = call.isOptional ? undefined : missingOnWorker(call, error, wait, host.now());
      if (missing === undefined) return call.failed(error);
      if (host.isCancelled()) return call.failed(isOwnActivity(call.name) ? new CancelledFailure('CANCELLED') : error);
      return rescheduleElsewhere(host, call, { missing, times: (wait?.times ?? -1) + 1 });
    },
  );
}

/** Reschedules the activity for other workers, and shows meanwhile what the run waits for. */
async function rescheduleElsewhere<Input, Output, Outcome>(
  host: ActivityHost,
  call: ActivityRequest<Input, Output, Outcome>,
  wait: WorkerWait,
): Promise<Outcome> {
  const { missing, times } = wait;
  host.waits(missing);
  try {
    const pause = pauseMs(times);
    if (pause > 0) await host.pause(pause, `no worker has ${missing.kind} ${missing.name} yet`);
  } catch (error) {
    host.waited(missing);
    return call.failed(error);
  }
  return performActivity(host, onAnotherWorker(call, missing, host.now()), wait);
}
