import { activityInfo, log } from '@temporalio/activity';
import { AsyncLocalStorage } from 'node:async_hooks';
import { errorMessage } from '../../src/core/domain/errors/error.ts';

/** Reports the reason of a rejection in the context of the activity that caused it. */
export type ReportStray = (reason: unknown) => void;

/** The activity that the current code belongs to: its promises and timers carry it, even after the activity has ended. */
const origin = new AsyncLocalStorage<ReportStray>();

/** Runs an activity. `report` receives the rejections that it leaves unhandled. */
export function reportingStrays<Output>(report: ReportStray, work: () => Promise<Output>): Promise<Output> {
  return origin.run(report, work);
}

/** Returns a function that logs an unhandled rejection with its activity and run; the activity itself continues. */
export function logStray(fitted: (reason: unknown) => Error): ReportStray {
  return (reason) => {
    const { activityType } = activityInfo();
    log.error(`A promise of "${activityType}" was rejected and not handled: await it, or add a catch`, { error: fitted(reason) });
  };
}

let watching = 0;

/**
 * Starts reporting rejections that code of activities leaves unhandled: otherwise they would end the process, and with
 * it the calls of all other runs. Any other unhandled rejection ends the process as before, unless the process has its
 * own listener. Does nothing if Node was started with `--unhandled-rejections`. Returns a function that stops it.
 */
export function watchStrays(): () => void {
  if (isChosen()) return () => undefined;
  if (watching === 0) process.on('unhandledRejection', onRejection);
  watching += 1;
  let isOver = false;
  return () => {
    if (isOver) return;
    isOver = true;
    watching -= 1;
    if (watching === 0) process.off('unhandledRejection', onRejection);
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

function isChosen(): boolean {
  return [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some((option) => option.includes('--unhandled-rejections'));
}
