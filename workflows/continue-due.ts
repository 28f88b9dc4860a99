import { patched, workflowInfo } from '@temporalio/workflow';
import type { ContinueAsNewThresholds } from '../src/domain/agent-snapshot.ts';
import type { Growth } from '../src/loop/ports.ts';
import type { LiveRun } from './live-run.ts';

/** Below what the server suggests (4,096 events, 4 MiB, 1,800 Updates), so that a step that has begun still fits. */
const DEFAULT_THRESHOLDS: ContinueAsNewThresholds = { events: 3_600, bytes: 3_400_000, updates: 1_000 };

/**
 * True where this execution should not take on the growth. Never before it has done something: a run whose carry is
 * above a threshold by itself would continue as new for ever.
 */
export function continueDue(run: LiveRun, growth: Growth): boolean {
  if (run.activitiesEnded === 0 && run.inbox.updates === 0) return false;
  const { historyLength, historySize, continueAsNewSuggested } = workflowInfo();
  const limit = run.snapshot?.continueAsNew ?? DEFAULT_THRESHOLDS;
  const due =
    continueAsNewSuggested ||
    historyLength + growth.events > limit.events ||
    historySize + growth.bytes > limit.bytes ||
    run.inbox.updates >= limit.updates;
  return due && patched('continue-as-new');
}
