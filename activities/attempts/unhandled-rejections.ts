import { activityInfo, log } from '@temporalio/activity';
import { AsyncLocalStorage } from 'node:async_hooks';
import { errorMessage } from '../../src/core/domain/errors/error.ts';

/** Reports the reason of a rejection in the context of the activity that caused it. */
export type ReportRejection = (reason: unknown) => void;

/** The activity that the current code belongs to: its promises and timers carry it, even after the activity has ended. */
const origin = new AsyncLocalStorage<ReportRejection>();

/** Runs an activity. `report` receives the rejections that it leaves unhandled. */
export function reportingRejections<Output>(report: ReportRejection, work: () => Promise<Output>): Promise<Output> {
  return origin.run(report, work);
}

/** Returns a function that logs an unhandled rejection with its activity and run; the activity itself continues. */
export function rejectionLogger(toError: (reason: unknown) => Error): ReportRejection {
  return (reason) => {
    const { activityType } = activityInfo();
    log.error(`A promise of "${activityType}" was rejected and not handled: await it, or add a catch`, { error: toError(reason) });
  };
}

let watchers = 0;

/**
 * Starts reporting rejections that code of activities leaves unhandled: otherwise they would end the process, and with
 * it the calls of all other runs. Any other unhandled rejection ends the process as before, unless the process has its
 * own listener. Does nothing if Node was started with `--unhandled-rejections`. Returns a function that stops it.
 */
export function watchUnhandledRejections(): () => void {
  if (hasNodeOption()) return () => undefined;
  if (watchers === 0) process.on('unhandledRejection', onRejection);
  watchers += 1;
  let isStopped = false;
  return () => {
    if (isStopped) return;
    isStopped = true;
    watchers -= 1;
    if (watchers === 0) process.off('unhandledRejection', onRejection);
  };
}

function onRejection(reason: unknown): void {
  const report = origin.getStore();
  if (report !== undefined) return report(reason);
  // The default of Node for a process without a listener.
  if (process.listenerCount('unhandledRejection') === 1) {
    throw reason instanceof Error ? reason : new Error(`A promise was rejected with ${errorMessage(reason)} and not handled`);
  }
}

function hasNodeOption(): boolean {
  return [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some((option) => option.includes('--unhandled-rejections'));
}
