// Tool phase: the turns of the calls of a response.

import type { RunPorts, ToolOutcome } from '../ports.ts';
import { isTransfer } from '../handoffs/transfer-calls.ts';
import { interrupted } from './call-results.ts';
import { noWorker } from './no-worker.ts';
import type { Acting } from './prepare-call.ts';
import type { ToolBatch } from './tool-batch.ts';

/** Schedules calls, and returns the outcome of each by index. */
type Schedule = (acting: Acting, batch: ToolBatch) => Promise<(ToolOutcome | null)[]>;

/**
 * Runs the calls of a response, and those that transfer the run to another agent after all others: the agent that takes over reads their
 * results. Returns the outcome of each call by index; null for those that are left to the next execution.
 */
export async function runInTurn(acting: Acting, ports: RunPorts, batch: ToolBatch, schedule: Schedule): Promise<(ToolOutcome | null)[]> {
  const { state, calls } = acting;
  const isLater = calls.map((call) => isTransfer(state, call));
  if (!isLater.includes(true)) return runTogether(acting, batch, schedule);
  const outcomes = [...batch.outcomes];
  for (const later of [false, true]) {
    const indexes: number[] = calls.flatMap((_, index) => (isLater[index] === later ? [index] : []));
    // The run ends because no worker had a tool: no agent takes over.
    if (later && noWorker(ports, outcomes) !== undefined) return outcomes.map((outcome) => outcome ?? interrupted());
    const some: ToolBatch = {
      response: batch.response,
      prepared: pick(batch.prepared, indexes),
      outcomes: indexes.map((index) => outcomes[index] ?? null),
      earlier: later ? outcomes : [],
    };
    const ended = await runTogether({ ...acting, calls: pick(calls, indexes) }, some, schedule);
    for (const [place, index] of indexes.entries()) outcomes[index] = ended[place] ?? null;
    if (ended.includes(null)) return outcomes;
  }
  return outcomes;
}

/** Runs calls as the scheduler does. Calls around a cell, or before a transfer, have their outcomes if the response goes on. */
async function runTogether(acting: Acting, batch: ToolBatch, schedule: Schedule): Promise<(ToolOutcome | null)[]> {
  const { code, snapshot } = acting.state;
  const isDone = (code !== undefined || snapshot.handoffs !== undefined) && !batch.outcomes.includes(null);
  return isDone ? batch.outcomes : schedule(acting, batch);
}

function pick<Item>(items: readonly Item[], indexes: readonly number[]): Item[] {
  return indexes.flatMap((index) => {
    const item = items[index];
    return item === undefined ? [] : [item];
  });
}
