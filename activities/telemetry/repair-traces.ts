import type { Client } from '@temporalio/client';
import { AGENT_RUN, PROGRAM_RUN } from '../../src/core/protocol.ts';
import { recordedTrace } from '../../src/history/recorded-trace.ts';
import { callSpans, runSpans } from '../../src/telemetry/run-spans.ts';
import type { SpanRecord } from '../../src/telemetry/span-record.ts';
import { withoutMemos } from '../../src/temporal/run-workflow.ts';
import type { RepairedTraces, SettledCalls, Telemetry } from '../../src/telemetry/telemetry.ts';

/** The number of runs that are read concurrently. */
const READ_AT_ONCE = 4;

interface RepairedRuns {
  since: Date;
  /** The settled calls to report as well. Absent: none. */
  calls: SettledCalls | undefined;
}

/** Reports the spans derived from the records of runs that are open or have ended since then. */
export async function repairTraces(telemetry: Telemetry, client: Client, { since, calls }: RepairedRuns): Promise<RepairedTraces> {
  const repaired: RepairedTraces = { runs: 0, spans: 0, unread: 0 };
  if (!telemetry.hasSpans) return repaired;
  const types = [AGENT_RUN, PROGRAM_RUN].map((type) => `'${type}'`).join(', ');
  const query = `WorkflowType IN (${types}) AND (CloseTime >= '${since.toISOString()}' OR ExecutionStatus = 'Running')`;
  // The list has a run once per execution.
  const runIds = new Set<string>();
  for await (const { workflowId } of withoutMemos(client).workflow.list({ query })) runIds.add(workflowId);
  const queue = [...runIds];
  const read = async (): Promise<void> => {
    for (let runId = queue.pop(); runId !== undefined; runId = queue.pop()) {
      const spans = await reportRun(telemetry, client, { runId, calls });
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
async function reportRun(
  telemetry: Telemetry,
  client: Client,
  { runId, calls }: Pick<RepairedRuns, 'calls'> & { runId: string },
): Promise<number | undefined> {
  const recorded = await recordedTrace(client, runId).catch(() => undefined);
  if (recorded === undefined) return undefined;
  const { trace, part } = recorded;
  const missing = calls === undefined ? [] : await missingCalls(callSpans(trace, part), calls);
  const spans = [...missing, ...runSpans(trace, part)];
  for (const span of spans) telemetry.report(trace, span);
  return spans.length;
}

/** Returns the spans of calls that the backend lacks and that no worker is about to report. */
async function missingCalls(spans: readonly SpanRecord[], { storedIn, endedForMs }: SettledCalls): Promise<SpanRecord[]> {
  const settled = spans.filter(({ endTime }) => endTime <= Date.now() - endedForMs);
  const missing: SpanRecord[] = [];
  for (const [traceId, ofTrace] of Map.groupBy(settled, ({ traceId: id }) => id)) {
    const stored = new Set(await storedIn(traceId));
    missing.push(...ofTrace.filter(({ spanId }) => !stored.has(spanId)));
  }
  return missing;
}
