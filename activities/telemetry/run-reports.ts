import type { Client } from '@temporalio/client';
import type { TracedEnd, TracedPart } from '../../src/core/domain/traced-part.ts';
import { dollarsOf } from '../../src/core/domain/usage.ts';
import type { MeasuredAnswer, Metrics } from '../../src/telemetry/metrics.ts';
import { runSpans } from '../../src/telemetry/run-spans.ts';
import type { WorkerTelemetry } from './call-spans.ts';

/** A part of the record of a run, which has ended with a turn or an execution. */
export interface ReportedPart {
  workflowId: string;
  /** Temporal's run id. */
  executionId: string;
  /** The key of a run inside a workflow of the user, or empty. */
  key: string;
  part: TracedPart;
}

/** Reports the spans and metrics of a part of the record. Never rejects, and nothing waits for it: what is lost is counted. */
export async function reportPart(
  { telemetry, traces }: WorkerTelemetry,
  client: Client | undefined,
  { part, ...execution }: ReportedPart,
): Promise<void> {
  telemetry.measure((metrics) => measureEnds(metrics, part));
  if (!telemetry.hasSpans) return;
  const trace = client === undefined ? undefined : await traces.of(client, execution);
  if (trace === undefined) telemetry.drop();
  else for (const span of telemetry.guarded(() => runSpans(trace, part)) ?? []) telemetry.report(trace, span);
}

/** Counts what was lost, and the turns and the run that have ended. The amounts of a session are those of its turns. */
function measureEnds(metrics: Metrics, { turns, cachesLost = [], end }: TracedPart): void {
  for (const model of cachesLost) metrics.cacheLost(model);
  for (const turn of turns) metrics.answered(amountsOf(turn));
  if (end === undefined) return;
  const { agent, status, stopReason, isSession } = end;
  metrics.runEnded({ agent, status, stopReason });
  if (!isSession) metrics.answered(amountsOf(end));
}

function amountsOf({ agent, errorCode, isWorkflow, isFlow, usage, toolCalls, from, to }: TracedEnd): MeasuredAnswer {
  return {
    agent,
    isWorkflow: isWorkflow || isFlow === true,
    seconds: (to - from) / 1_000,
    modelCalls: usage.llmCalls,
    toolCalls,
    dollars: dollarsOf(usage),
    code: errorCode,
  };
}
