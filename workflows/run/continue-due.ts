import { patched, workflowInfo } from '@temporalio/workflow';
import { DEFAULT_THRESHOLDS } from '../../src/core/domain/run/continue-as-new.ts';
import type { Growth } from '../../src/core/loop/ports.ts';
import type { LiveRun } from './live-run.ts';

/**
 * True where this execution should not take on the growth. Never before it has done something: a run whose carry is
 * above a threshold by itself would continue as new for ever.
 */
export function continueDue(run: LiveRun, growth: Growth): boolean {
  if (run.activitiesEnded === 0 && run.inbox.updates === 0) return false;
  const { historyLength, historySize, continueAsNewSuggested, targetWorkerDeploymentVersionChanged } = workflowInfo();
  const limit = run.snapshot?.continueAsNew ?? DEFAULT_THRESHOLDS;
  const due =
    continueAsNewSuggested ||
    // Where a run moves to the current build by continuing, a new build is reason enough.
    (run.snapshot?.upgradeOnContinueAsNew === true && targetWorkerDeploymentVersionChanged) ||
    historyLength + growth.events > limit.events ||
    historySize + growth.bytes > limit.bytes ||
    run.inbox.updates + Math.max(1, run.recentUpdates) > limit.updates;
  return due && patched('continue-as-new');
}
