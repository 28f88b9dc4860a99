import type { Client } from '@temporalio/client';
import { AGENT_RUN, PROGRAM_RUN } from '../../src/core/protocol.ts';
import { recordedTrace } from '../../src/history/recorded-trace.ts';
import { runSpans } from '../../src/telemetry/run-spans.ts';
import type { RepairedTraces, Telemetry } from '../../src/telemetry/telemetry.ts';

/** Runs that are read at once. */
const READ_AT_ONCE = 4;

/** Reports the spans that follow from the records of the runs that have ended since then, and of those that are open. */
export async function repairTraces(telemetry: Telemetry, client: Client, since: Date): Promise<RepairedTraces> {
  const repaired: RepairedTraces = { runs: 0, spans: 0, unread: 0 };
  if (!telemetry.hasSpans) return repaired;
  const types = [AGENT_RUN, PROGRAM_RUN].map((type) => `'${type}'`).join(', ');
  const query = `WorkflowType IN (${types}) AND (CloseTime >= '${since.toISOString()}' OR ExecutionStatus = 'Running')`;
  // A run is in the list once for each of its executions.
  const runIds = new Set<string>();
  for await (const { workflowId } of client.workflow.list({ query })) runIds.add(workflowId);
  const queue = [...runIds];
  const read = async (): Promise<void> => {
    for (let runId = queue.pop(); runId !== undefined; runId = queue.pop()) {
      const spans = await reportRun(telemetry, client, runId);
      if (spans === undefined) repaired.unread += 1;
      else {
        repaired.runs += 1;
        repaired.spans += spans;
      }
    }
  };
  await Promise.all(Array.from({ length: READ_AT_ONCE }, read));
  return repaired;
}

/** Reports the spans of a run. Returns their number; undefined if the run cannot be read. */
async function reportRun(telemetry: Telemetry, client: Client, runId: string): Promise<number | undefined> {
  const recorded = await recordedTrace(client, runId).catch(() => undefined);
  if (recorded === undefined) return undefined;
  const { trace, part } = recorded;
  const spans = runSpans(trace, part);
  for (const span of spans) telemetry.report(trace, span);
  return spans.length;
}
