import type { Client } from '@temporalio/client';
import { LonghaulError } from '../core/domain/errors.ts';
import type { TraceContext } from '../core/domain/result.ts';
import { findTrace, recordedTrace } from '../history/recorded-trace.ts';
import { rootSpanId, traceOfTurn } from '../telemetry/ids.ts';
import { type OtlpTraces, otlpTraces } from '../telemetry/otlp.ts';
import { callSpans, runSpans } from '../telemetry/run-spans.ts';

/** Options of `exportTrace`. */
export interface ExportTraceOptions {
  /**
   * True: also exports the ended model calls and tool calls that the histories have, with the server's times. For traces whose worker
   * was killed before it could send them. A span that a worker has sent has other times.
   */
  calls?: boolean;
}

/** Reads the spans of a run from its record. */
export async function exportedTrace(client: Client, runId: string, { calls = false }: ExportTraceOptions = {}): Promise<OtlpTraces> {
  const { trace, part } = await recordedTrace(client, runId);
  return otlpTraces([...(calls ? callSpans(trace, part) : []), ...runSpans(trace, part)]);
}

/** Returns the span of a run, or of a turn of a session, in the operator's traces. */
export async function spanOfRun(client: Client, runId: string, turn = 1): Promise<TraceContext> {
  const trace = await findTrace(client, { workflowId: runId, key: '' });
  if (trace === undefined)
    throw new LonghaulError('history_removed', `The beginning of run "${runId}" is no longer on the server: its trace is not known`);
  const place = trace.isSession ? traceOfTurn(trace, turn) : trace;
  return { traceId: place.traceId, spanId: rootSpanId(place) };
}
