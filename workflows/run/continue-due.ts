import { patched, workflowInfo } from '@temporalio/workflow';
import { DEFAULT_THRESHOLDS } from '../../src/core/domain/run/continue-as-new.ts';
import type { Growth } from '../../src/core/loop/ports.ts';
import type { LiveRun } from './live-run.ts';

/**
 * True if this execution should continue as new before it grows by `growth`. Never before it has made progress: a run
 * whose carried state alone exceeds a threshold would continue as new forever.
 */
export function continueDue(run: LiveRun, growth: Growth): boolean {
  if (run.activitiesEnded === 0 && run.inbox.updates === 0) return false;
  const { historyLength, historySize, continueAsNewSuggested, targetWorkerDeploymentVersionChanged } = workflowInfo();
  const limit = run.snapshot?.continueAsNew ?? DEFAULT_THRESHOLDS;
  const due =
    continueAsNewSuggested ||
    // A run that moves to the current build by continuing as new does so as soon as there is one.
    (run.snapshot?.upgradeOnContinueAsNew === true && targetWorkerDeploymentVersionChanged) ||
    historyLength + growth.events > limit.events ||
    historySize + growth.bytes > limit.bytes ||
    run.inbox.updates + Math.max(1, run.recentUpdates) > limit.updates;
  return due && patched('continue-as-new');
}

/** The size of an execution at which a session goes on in the next before it waits. */
const ASLEEP = { events: 1_000, bytes: 1_000_000 };

/** True if a session should continue as new before it waits: a worker that no longer has it in its cache replays this execution to wake it. */
export function continueBeforeSleep(run: LiveRun): boolean {
  if (run.activitiesEnded === 0 && run.inbox.updates === 0) return false;
  const { historyLength, historySize } = workflowInfo();
  const limit = run.snapshot?.continueAsNew ?? DEFAULT_THRESHOLDS;
  const isLong = historyLength >= Math.min(ASLEEP.events, limit.events) || historySize >= Math.min(ASLEEP.bytes, limit.bytes);
  return isLong || continueDue(run, { events: 0, bytes: 0 });
}
