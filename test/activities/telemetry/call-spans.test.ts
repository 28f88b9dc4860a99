import { expect, test } from 'vitest';
import { modelSpans, toolSpan, type WorkerTelemetry } from '../../../activities/telemetry/call-spans.ts';
import { jsonBytes } from '../../../src/core/domain/byte-budgets.ts';
import type { JsonValue } from '../../../src/core/domain/json.ts';
import type { RunToolInput } from '../../../src/core/protocol.ts';
import { idGenerator, type RunTrace } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { activityEnvironment } from '../activity-environment.ts';

const TRACE: RunTrace = {
  run: { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'f0e1' },
  traceId: '0af7651916cd43dd8448eb211c80319c',
  isSampled: true,
};
const INPUT = { agentName: 'clerk', callId: 'c1', step: 1, at: [1, 0] } as RunToolInput;

function workerOf(sdk: RecordingSdk): WorkerTelemetry {
  const telemetry = new Telemetry(plainApi(sdk), { tracerProvider: sdk, meterProvider: new RecordingMeter() });
  return {
    telemetry,
    captureContent: 'redacted',
    redact: (value) => JSON.parse(JSON.stringify(value).replaceAll('sk-1', '[redacted]')) as JsonValue,
    traces: { ofActivity: async () => TRACE } as never,
  };
}

/** Returns the attributes of the span of a call with this text as its argument and its result. */
async function attributesOf(text: string): Promise<Record<string, unknown>> {
  const sdk = new RecordingSdk(idGenerator);
  const worker = workerOf(sdk);
  await activityEnvironment().run(async () => {
    const span = await toolSpan(worker, INPUT, { tool: 'read', args: { text } });
    span.ended({ content: [text], isError: false });
  }, null);
  // It is handed over once the server can have the outcome.
  expect(sdk.exported).toEqual([]);
  await worker.telemetry.flush();
  return sdk.exported[0]?.attributes ?? {};
}

const CONTENT = ['gen_ai.tool.call.arguments', 'gen_ai.tool.call.result'];

test.each(CONTENT)('%s is whole up to 64 kB of JSON', async (name) => {
  const attributes = await attributesOf('sk-1 and more');
  expect(attributes[name]).toContain('[redacted] and more');
});

test.each(CONTENT)('%s is cut at 64 kB of JSON, after secrets are taken out', async (name) => {
  const written = String((await attributesOf(`sk-1${'ä"'.repeat(60_000)}`))[name]);
  expect(written.length).toBeGreaterThan(10_000);
  expect(jsonBytes(written)).toBeLessThanOrEqual(64_000);
  expect(written).toContain('[redacted]ä');
});

test.each([
  { what: 'an attempt that was made is reported', details: undefined, lost: [1] },
  { what: 'an attempt that was parked is not', details: { batch: { provider: 'openai', since: 0, first: 1, collector: 0 } }, lost: [] },
])('a worker that is lost: $what', async ({ details, lost }) => {
  const sdk = new RecordingSdk(idGenerator);
  const pendingActivities = [{ activityId: 'a1', lastFailure: { timeoutFailureInfo: { timeoutType: 4 } } }];
  const info = { activityId: 'a1', attempt: 2, retryPolicy: {} };
  const environment = activityEnvironment({ heartbeatDetails: details, pendingActivities, info });
  await environment.run(async () => {
    await modelSpans(workerOf(sdk), { run: INPUT, agentName: 'clerk', through: 1 });
  }, null);
  expect(sdk.exported.map(({ attributes }) => attributes['longhaul.attempt'])).toEqual(lost);
});
