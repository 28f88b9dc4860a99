import { activityInfo, log } from '@temporalio/activity';
import { AsyncLocalStorage } from 'node:async_hooks';
import { errorMessage } from '../../src/core/domain/errors/error.ts';

/** Says what was rejected by code of an activity, in the name of that activity. */
export type ReportStray = (reason: unknown) => void;

/** What the code that runs belongs to: promises and timers of an activity carry it, even after the activity has ended. */
const origin = new AsyncLocalStorage<ReportStray>();

/** Runs an activity so that the promises which it forgets are reported by `report`. */
export function reportingStrays<Output>(report: ReportStray, work: () => Promise<Output>): Promise<Output> {
  return origin.run(report, work);
}

/** Logs a rejection that nobody handles, with the activity and the run; the activity itself goes on. */
export function logStray(fitted: (reason: unknown) => Error): ReportStray {
  return (reason) => {
    const { activityType } = activityInfo();
    log.error(`A promise of "${activityType}" was rejected, and nobody handled that: await it, or add a catch`, { error: fitted(reason) });
  };
}

let watching = 0;

/**
 * From now on a rejection that code of an activity leaves unhandled is reported instead of ending the process, and with it
 * the calls of all other runs. Any other keeps its effect: the process ends, unless it has a listener of its own. Nothing
 * changes where Node was told what to do (`--unhandled-rejections`). Returns what ends it.
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
  // As Node does where nobody listens.
  if (process.listenerCount('unhandledRejection') === 1) {
    throw reason instanceof Error ? reason : new Error(`A promise was rejected with ${errorMessage(reason)}, and nobody handled that`);
  }
}

function isChosen(): boolean {
  return [...process.execArgv, process.env['NODE_OPTIONS'] ?? ''].some((option) => option.includes('--unhandled-rejections'));
}
