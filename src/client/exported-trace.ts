import type { Client } from '@temporalio/client';
import { LonghaulError } from '../core/domain/errors.ts';
import type { Event } from '../core/domain/record.ts';
import { isTerminal } from '../core/domain/run.ts';
import { tracedPart } from '../core/domain/traced-part.ts';
import { findTrace } from '../history/run-trace.ts';
import { type OtlpTraces, otlpTraces } from '../telemetry/otlp.ts';
import { runSpans } from '../telemetry/run-spans.ts';
import type { RunReader } from './reader.ts';

/** Reads the spans of a run from its record. The result is read only if the run has ended. */
export async function exportedTrace(
  client: Client,
  runId: string,
  { reader, result }: { reader: RunReader; result: () => Promise<Parameters<typeof tracedPart>[0]['result']> },
): Promise<OtlpTraces> {
  const trace = await findTrace(client, { workflowId: runId, key: '' });
  if (trace === undefined)
    throw new LonghaulError('history_removed', `The beginning of run "${runId}" is not on the server any more: its trace is not known`);
  const { agentName, status } = await reader.status();
  const events: Event[] = [];
  for await (const event of reader.events({})) events.push(event);
  const ended = isTerminal(status) ? await result() : undefined;
  const record = { agentName: ended?.agentName ?? agentName, firstOffset: 0, events, steps: await reader.steps() };
  return otlpTraces(runSpans(trace, tracedPart({ ...record, result: ended })));
}
