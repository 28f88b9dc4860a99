import { expect } from 'vitest';
import type { RunHandle } from '../../../src/client/index.ts';
import { readExecution } from '../../../src/history/read-run.ts';
import { RunChain } from '../../../src/client/executions.ts';
import { approvalsFrom, statusFrom } from '../../../src/client/recorded-views.ts';
import type { Event } from '../../../src/core/domain/record.ts';
import { type ApprovalsPage, type ContextPage, QUERIES, type StatusView, type StepsPage } from '../../../src/core/protocol.ts';
import type { Testbed } from './testbed.ts';

/** Blanks the ids of events that neither a model call nor a carried state names: only the workflow knows them. */
function exceptUntoldIds(events: readonly Event[]): unknown[] {
  const last = events.findLastIndex(({ usage }) => usage !== undefined);
  return events.map((event, offset) => (offset > last || event.content.length === 0 ? { ...event, id: '' } : event));
}

/** Waits until the history of a run no longer grows: the run and its history are read in sequence. */
async function atRest(historyLength: () => Promise<number>): Promise<void> {
  for (let before = 0, now = await historyLength(); now !== before; now = await historyLength()) {
    before = now;
    await new Promise((resolve) => setTimeout(resolve, 150));
  }
}

/** Checks, execution by execution, that a run answers queries with the same data as its history gives. */
export async function expectSameFromHistory(
  { client: { temporal } }: Testbed,
  { runId }: Pick<RunHandle<unknown>, 'runId'>,
): Promise<void> {
  await atRest(async () => (await temporal.workflow.getHandle(runId).describe()).historyLength);
  const chain = new RunChain(temporal, runId);
  const { executionId: newest, status } = await chain.newest();
  const live = { events: [] as Event[], steps: [] as unknown[] };
  const read = { events: [] as Event[], steps: [] as unknown[] };
  for (const { executionId } of await chain.executions()) {
    const handle = temporal.workflow.getHandle(runId, executionId);
    const recorded = await readExecution(temporal, runId, executionId);
    if (recorded === undefined) throw new Error(`Execution ${executionId} is gone`);
    live.events.push(...(await handle.query<ContextPage, [object]>(QUERIES.context, { from: live.events.length })).events);
    live.steps.push(...(await handle.query<StepsPage, [object]>(QUERIES.steps, { from: live.steps.length })).steps);
    read.events.push(...recorded.events);
    read.steps.push(...recorded.steps);
    if (executionId !== newest) continue;
    const { from: _, total: __, ...approvals } = await handle.query<ApprovalsPage>(QUERIES.approvals);
    expect(approvalsFrom(runId, { status }, recorded.run)).toEqual(approvals);
    expect(statusFrom(runId, { status }, recorded.run)).toEqual(await handle.query<StatusView>(QUERIES.status));
  }
  expect(exceptUntoldIds(read.events)).toEqual(exceptUntoldIds(live.events));
  expect(read.steps).toEqual(live.steps);
}
