// Tool phase: the rule by which no further call starts.

import { isAskedAbout } from '../approvals/approvals.ts';
import { endsByDeadline } from '../limits/limits.ts';
import type { RunPorts } from '../ports.ts';
import type { RunState } from '../state/run-state.ts';
import { interrupted, unknown } from './call-results.ts';
import type { InFlight } from './in-flight.ts';
import { noWorker } from './no-worker.ts';
import type { ToolBatch } from './tool-batch.ts';

/**
 * True if no further call of the batch may start. The run is cancelled or over its deadline, a message
 * steers it elsewhere, or a call that no worker could make ends it.
 */
export function isStopped(state: RunState, ports: RunPorts, { outcomes }: Pick<ToolBatch, 'outcomes'>): boolean {
  return ports.cancelRequested() || ports.inbox.isSteered || noWorker(outcomes) !== undefined || endsByDeadline(state, ports.now());
}

/** Gives up the calls that have not started, and the decisions that they wait for. Calls that are running are left to end. */
export function giveUp(state: RunState, ports: RunPorts, { prepared, outcomes }: ToolBatch, running: InFlight): void {
  const { pending } = state.approvals;
  state.approvals.pending = [];
  for (const [index, one] of prepared.entries()) {
    if (outcomes[index] !== null || running.has(index)) continue;
    if (one.type === 'immediate') outcomes[index] = ports.cancelRequested() ? interrupted() : one.outcome;
    // A call about whose outcome a person is asked has started.
    else if (isAskedAbout(pending, one.invocation.call.toolCallId)) outcomes[index] = unknown(one.invocation.tool.name);
    else outcomes[index] = interrupted();
  }
}
