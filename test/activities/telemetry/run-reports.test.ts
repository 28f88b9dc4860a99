import { expect, test } from 'vitest';
import { RunReports } from '../../../activities/telemetry/run-reports.ts';
import type { WorkerTelemetry } from '../../../activities/telemetry/call-spans.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import type { TracedEnd, TracedPart } from '../../../src/core/domain/traced-part.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';

/** Returns how often the end of a run counts as that of an agent. */
async function agentsIn(end: Partial<TracedEnd>): Promise<number> {
  const sdk = new RecordingSdk(idGenerator);
  const meter = new RecordingMeter();
  const telemetry = new Telemetry(plainApi(sdk), { tracerProvider: sdk, meterProvider: meter });
  const ended = { agent: 'clerk', status: 'completed', isWorkflow: false, usage: noUsage(), toolCalls: 0, from: 0, to: 1_000, ...end };
  const part = { turns: [], end: ended } as unknown as TracedPart;
  const reports = new RunReports({ telemetry } as WorkerTelemetry);
  reports.report(undefined, { workflowId: 'clerk-1', executionId: 'f0e1', historyLength: 9, at: 1_000, key: '', part });
  await reports.flush();
  return meter.measured.filter(({ name }) => name === 'gen_ai.invoke_agent.duration').length;
}

test('runs of programs and of flows are workflows in the metrics, as in their spans', async () => {
  expect(await agentsIn({})).toBe(1);
  expect(await agentsIn({ isWorkflow: true })).toBe(0);
  expect(await agentsIn({ isFlow: true })).toBe(0);
});
