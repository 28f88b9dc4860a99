import type { AgentSnapshot, ToolSnapshot } from '../domain/agent/agent-snapshot.ts';
import { BYTE_BUDGETS } from '../domain/json/byte-budget.ts';
import { isToolCall } from '../domain/content/content.ts';
import type { ToolInvocation } from '../loop/ports.ts';
import type { RequestingRun } from './activity-request.ts';

/**
 * Bytes that the local calls of one response may leave. All that a task of the workflow leaves is one message of at most
 * 4 MB, refused and tried again for ever above that; the rest is for what a run carries into its next execution.
 */
const MAX_LOCAL_BYTES = 2_000_000;

/**
 * True where a call of a local tool can run within the task. It is told from the response alone, whatever became of the
 * calls before it: each counts with the most that it may leave.
 */
export function fitsLocalActivityBudget({ snapshot, state }: RequestingRun, { tool, eventId, index }: ToolInvocation): boolean {
  // Nearly always: the response need not be looked at.
  if ((index + 1) * largestCall(snapshot) <= MAX_LOCAL_BYTES) return true;
  const response = state?.window.events.findLast(({ id }) => id === eventId);
  const before = response?.content.slice(0, index).filter(isToolCall) ?? [];
  let bytes = mostBytes(tool);
  for (const { name } of before) {
    const other = snapshot.tools.find((one) => one.name === name);
    if (other?.tier === 'local') bytes += mostBytes(other);
  }
  return bytes <= MAX_LOCAL_BYTES;
}

/** What one local call may leave at most, by snapshot, which never changes. */
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
