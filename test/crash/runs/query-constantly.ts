import type { Client } from '@temporalio/client';
import { setTimeout as pause } from 'node:timers/promises';
import { QUERIES } from '../../../src/core/protocol.ts';

/** The queries of Longhaul's client, and of the Temporal UI for the page of a run. */
const ASKED = [QUERIES.status, '__temporal_workflow_metadata', QUERIES.approvals, '__stack_trace'];
const EVERY_MS = 30;
const DEADLINE_MS = 3_000;

/** Queries a run, even if it does not answer, until it is aborted. */
export async function queryConstantly(client: Client, runId: string, enough: AbortSignal): Promise<void> {
  const handle = client.workflow.getHandle(runId);
  for (let asked = 0; !enough.aborted; asked += 1) {
    const name = ASKED[asked % ASKED.length] ?? '';
    await client.withDeadline(Date.now() + DEADLINE_MS, () => handle.query(name)).catch(() => undefined);
    await pause(EVERY_MS, undefined, { signal: enough }).catch(() => undefined);
  }
}
