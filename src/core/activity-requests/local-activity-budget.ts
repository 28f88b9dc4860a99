import type { AgentSnapshot, ToolSnapshot } from '../domain/agent/agent-snapshot.ts';
import { BYTE_BUDGETS } from '../domain/json/byte-budget.ts';
import { isToolCall } from '../domain/content/content.ts';
import type { ToolInvocation } from '../loop/ports.ts';
import { findEvent } from '../loop/state/run-state.ts';
import type { RequestingRun } from './activity-request.ts';

/**
 * Bytes that the local calls of one response may produce. All commands of one workflow task are one message of at most 4 MB; the
 * server refuses a larger one, and the task is retried for ever. The rest is for the state that a run carries into its next
 * execution.
 */
const MAX_LOCAL_BYTES = 2_000_000;

/**
 * True if a call of a local tool can run inside the workflow task. Depends on the response alone, and not on the results of earlier
 * calls: each counts with the most that it may produce.
 */
export function fitsLocalActivityBudget({ snapshot, state }: RequestingRun, { tool, eventId, index }: ToolInvocation): boolean {
  // Nearly always true, so that the response need not be searched.
  if ((index + 1) * largestCall(snapshot) <= MAX_LOCAL_BYTES) return true;
  const response = state && findEvent(state, eventId);
  const before = response?.content.slice(0, index).filter(isToolCall) ?? [];
  let bytes = mostBytes(tool);
  for (const { name } of before) {
    const other = snapshot.tools.find((one) => one.name === name);
    if (other?.tier === 'local') bytes += mostBytes(other);
  }
  return bytes <= MAX_LOCAL_BYTES;
}

/** The most bytes that one local call may produce, by snapshot, which never changes. */
const largest = new WeakMap<AgentSnapshot, number>();

function largestCall(snapshot: AgentSnapshot): number {
  const known = largest.get(snapshot);
  if (known !== undefined) return known;
  const bytes = Math.max(0, ...snapshot.tools.filter(({ tier }) => tier === 'local').map(mostBytes));
  largest.set(snapshot, bytes);
  return bytes;
}

function mostBytes({ maxResultBytes = BYTE_BUDGETS.toolResult }: ToolSnapshot): number {
  return maxResultBytes + BYTE_BUDGETS.localChanges;
}
