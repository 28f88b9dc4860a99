import type { Info } from '@temporalio/activity';
import { ApplicationFailure } from '@temporalio/common';
import { expect, test, vi } from 'vitest';
import { WorkerGovernor } from '../../../activities/governor/worker-governor.ts';
import { callModelActivity } from '../../../activities/model-calls/call-model.ts';
import type { WorkerTelemetry } from '../../../activities/telemetry/call-spans.ts';
import { modelOptions } from '../../../src/core/activity-requests/agent-requests.ts';
import { onAnotherWorker } from '../../../src/core/activity-requests/activity-request.ts';
import { ModelCallError } from '../../../src/core/domain/errors.ts';
import { withUncountedAttempts } from '../../../src/core/domain/missing-definitions.ts';
import type { ModelClient, ModelResponse } from '../../../src/core/domain/model.ts';
import { Permit } from '../../../src/governor/provider-permits.ts';
import { defineAgent } from '../../../src/index.ts';
import { idGenerator } from '../../../src/telemetry/ids.ts';
import { prometheusMetrics } from '../../../src/telemetry/prometheus.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { snapshotOf } from '../../fakes/snapshot.ts';
import { plainApi, RecordingSdk } from '../../telemetry/recording-sdk.ts';
import { activityEnvironment } from '../activity-environment.ts';

const agent = defineAgent({ name: 'bot', model: 'scripted/m', modelMaxAttempts: 2 });

/** One attempt of a call on a worker with a limit, which is used up unless there is room. */
interface Attempt {
  hasRoom: boolean;
  attempt?: number;
  heartbeatDetails?: unknown;
  /** The server limits the attempts. */
  maximumAttempts?: number;
  /** The failure of the provider. */
  code?: ModelCallError['code'];
}

async function attempted({ hasRoom, attempt = 1, heartbeatDetails, maximumAttempts = 0, code = 'model_unreachable' }: Attempt) {
  let calls = 0;
  const model: ModelClient = {
    capabilities: { structuredOutput: true },
    call: () => {
      calls += 1;
      return Promise.reject<ModelResponse>(new ModelCallError(code, 'cut'));
    },
  };
  const limits = { scripted: { requestsPerMinute: 1, holdSlotFor: 0 } };
  const sdk = new RecordingSdk(idGenerator);
  const governor = WorkerGovernor.of({ limits }, { providers: ['scripted'], telemetry: undefined, log: () => undefined });
  const bounds = { holdMs: 5_000, signal: new AbortController().signal };
  if (!hasRoom)
    await governor?.permitsOf('scripted/m')?.acquire({ call: 'c', tenant: 't', priority: 3, since: 0, isBack: false, tokens: 0 }, bounds);
  const retryPolicy = { maximumAttempts };
  const info: Partial<Info> = {
    attempt,
    retryPolicy,
    startToCloseTimeoutMs: 400,
    scheduledTimestampMs: 0,
    currentAttemptScheduledTimestampMs: 0,
  };
  const environment = activityEnvironment({ agents: [agent], model, info, heartbeatDetails, governor, telemetry: reportingTo(sdk) });
  const snapshot = snapshotOf(agent);
  environment.runtime.snapshots.add(snapshot);
  const input = { agent: snapshot.digest, through: 1, lastEventId: 'e0' };
  const failure: unknown = await environment.run(callModelActivity(environment.runtime), input).catch((thrown: unknown) => thrown);
  await governor?.close();
  if (!(failure instanceof ApplicationFailure)) throw failure;
  return { failure, heartbeats: environment.heartbeats, calls, spans: sdk.exported.map(({ attributes }) => attributes['error.type']) };
}

/** Returns the telemetry of a worker whose runs all have one place. */
function reportingTo(sdk: RecordingSdk): WorkerTelemetry {
  const run = { namespace: 'default', runId: 'run-1', firstExecutionId: 'execution-1' };
  const trace = { run, traceId: '0af7651916cd43dd8448eb211c80319c', isSampled: true };
  const telemetry = new Telemetry(plainApi(sdk), { tracerProvider: sdk, meterProvider: prometheusMetrics() });
  return { telemetry, captureContent: false, redact: (value) => value, traces: { ofActivity: async () => trace } as never };
}

test('an attempt without room ends with a delay of about the time until there is room, and does not count', async () => {
  const spent = { reported: { promptTokens: 7, completionTokens: 1, totalTokens: 8 } };
  const before = withUncountedAttempts(3, { spent, refused: { count: 1, queuedMs: 1_000 } });
  const { failure, heartbeats, calls, spans } = await attempted({ hasRoom: false, attempt: 5, heartbeatDetails: before });
  expect([calls, spans]).toEqual([0, []]);
  expect(failure).toMatchObject({ type: 'Parked', nonRetryable: false });
  expect(failure.message).toMatch(/^Not sent yet: the limits of the provider of model "scripted\/m" are used up for about \d+ s$/);
  expect(Number(failure.nextRetryDelay)).toBeGreaterThan(45_000);
  expect(Number(failure.nextRetryDelay)).toBeLessThanOrEqual(60_000);
  // Earlier costs stay known, and the patience pauses while the call is parked.
  expect(heartbeats).toMatchObject([{ 'longhaul:lacked': 4, details: { spent, refused: { count: 1 } } }]);
  const [{ details }] = heartbeats as [{ details: { refused: { queuedMs: number } } }];
  expect(details.refused.queuedMs).toBeGreaterThanOrEqual(1_000 + Number(failure.nextRetryDelay));
});

test.each([
  ['its first', 41, 40, false],
  ['its last', 42, 40, true],
])('after forty parked attempts, a call makes %s', async (_, attempt, parked, isLast) => {
  const { failure, calls } = await attempted({ hasRoom: true, attempt, heartbeatDetails: withUncountedAttempts(parked, undefined) });
  expect(calls).toBe(1);
  expect(failure).toMatchObject({ type: 'model_unreachable', nonRetryable: isLast });
});

test.each([
  ['a refusal', 'model_rate_limited', 1],
  ['an overloaded provider (529)', 'model_server_error', 0],
] as const)('%s lowers the rate only if it is about the limit', async (_, code, times) => {
  const refused = vi.spyOn(Permit.prototype, 'refused');
  const { calls } = await attempted({ hasRoom: true, code });
  expect([calls, refused.mock.calls.length]).toEqual([1, times]);
  refused.mockRestore();
});

test('a call whose attempts the server counts waits in its slot, and is then refused: its span says that the provider did not refuse it', async () => {
  const { failure, calls, spans } = await attempted({ hasRoom: false, maximumAttempts: 9 });
  expect([calls, spans]).toEqual([0, ['not_sent']]);
  expect(failure).toMatchObject({ type: 'model_rate_limited', nonRetryable: false });
  expect(await attempted({ hasRoom: true, code: 'model_rate_limited' })).toMatchObject({ spans: ['model_rate_limited'] });
});

test('the server has no limit of attempts for calls that may be parked, also while they wait for another worker', () => {
  const snapshot = snapshotOf(agent);
  expect(modelOptions(snapshot, 's').retry?.maximumAttempts).toBeGreaterThan(2);
  const options = modelOptions({ ...snapshot, timing: { ...snapshot.timing, parks: true } }, 's');
  expect(options.retry).not.toHaveProperty('maximumAttempts');
  const request = { name: 'callModel', tier: 'remote' as const, options, input: {}, returned: () => undefined, failed: () => undefined };
  const missing = {
    kind: 'provider' as const,
    name: 'p',
    known: [],
    code: 'unknown_provider' as const,
    since: '',
    until: '1970-01-01T00:01:00.000Z',
    attempts: 0,
  };
  expect(onAnotherWorker(request, missing, 0).input).toMatchObject({ awaitsWorker: { attempts: Number.MAX_SAFE_INTEGER } });
});
