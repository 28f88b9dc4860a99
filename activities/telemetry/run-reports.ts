import type { Client } from '@temporalio/client';
import type { TracedPart } from '../../src/core/domain/traced-part.ts';
import { dollarsOf } from '../../src/core/domain/usage.ts';
import { runSpans } from '../../src/telemetry/run-spans.ts';
import type { WorkerTelemetry } from './call-spans.ts';

/** An execution that ends, and what the trace of its run shows of it. */
export interface EndedExecution {
  workflowId: string;
  /** Temporal's run id. */
  executionId: string;
  /** The key of a run inside a workflow of the user, or empty. */
  key: string;
  part: TracedPart;
}

/** Reports the spans and metrics of an execution that ends. Never rejects, and nothing waits for it: what is lost is counted. */
export async function reportExecution(
  { telemetry, traces }: WorkerTelemetry,
  client: Client | undefined,
  { part, ...execution }: EndedExecution,
): Promise<void> {
  telemetry.guarded(() => measureEnd(telemetry.metrics, part));
  if (!telemetry.hasSpans) return;
  const trace = client === undefined ? undefined : await traces.of(client, execution);
  if (trace === undefined) telemetry.drop();
  else for (const span of telemetry.guarded(() => runSpans(trace, part)) ?? []) telemetry.report(trace, span);
}

function measureEnd(metrics: WorkerTelemetry['telemetry']['metrics'], { agentName, end }: TracedPart): void {
  if (end === undefined) return;
  const { status, stopReason, errorCode, isWorkflow, usage, toolCalls, from, to } = end;
  metrics.runEnded({
    agent: agentName,
    isWorkflow,
    status,
    stopReason,
    seconds: (to - from) / 1_000,
    modelCalls: usage.llmCalls,
    toolCalls,
    dollars: dollarsOf(usage),
    code: errorCode,
  });
}
