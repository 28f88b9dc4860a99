import type { Client } from '@temporalio/client';
import { expect, test } from 'vitest';
import { RunReports } from '../../../activities/telemetry/run-reports.ts';
import type { WorkerTelemetry } from '../../../activities/telemetry/call-spans.ts';
import { noUsage } from '../../../src/core/domain/usage.ts';
import type { TracedEnd, TracedPart } from '../../../src/core/domain/traced-part.ts';
import { idGenerator, type RunTrace } from '../../../src/telemetry/ids.ts';
import { Telemetry } from '../../../src/telemetry/telemetry.ts';
import { plainApi, RecordingMeter, RecordingSdk } from '../../telemetry/recording-sdk.ts';

const TRACE: RunTrace = {
  run: { namespace: 'default', runId: 'clerk-1', firstExecutionId: 'f0e1' },
  traceId: '0af7651916cd43dd8448eb211c80319c',
  isSampled: true,
};
const TASK = { workflowId: 'clerk-1', executionId: 'f0e1', historyLength: 9, at: 2_000, key: '' };
const ENDED = { agent: 'clerk', status: 'completed', isWorkflow: false, usage: noUsage(), toolCalls: 0, from: 0, to: 1_000 };
const EMPTY: TracedPart = { waits: [], children: [], turns: [] };

/** The reports of a worker, and a server that says what it has accepted. */
class Reporting {
  readonly sdk = new RecordingSdk(idGenerator);
  readonly meter = new RecordingMeter();
  readonly telemetry = new Telemetry(plainApi(this.sdk), { tracerProvider: this.sdk, meterProvider: this.meter });
  readonly reports = new RunReports({ telemetry: this.telemetry, traces: { of: async () => TRACE } } as unknown as WorkerTelemetry);
  asked = 0;
  /** Awaited before each answer. */
  answers: Promise<unknown> = Promise.resolve();
  readonly client = {
    options: { namespace: 'default' },
    withDeadline: (_: number, ask: () => Promise<unknown>) => ask(),
    workflowService: {
      getWorkflowExecutionHistoryReverse: async () => {
        this.asked += 1;
        await this.answers;
        const accepted = { eventId: 10, workflowTaskCompletedEventAttributes: { startedEventId: 9 } };
        return { history: { events: [accepted, { eventId: 9, workflowTaskStartedEventAttributes: {} }] } };
      },
    },
  } as unknown as Client;

  /** Reports the end of a run. */
  end(end: Partial<TracedEnd> = {}, more: Partial<TracedPart> = {}): void {
    this.reports.report(this.client, { ...TASK, part: { ...EMPTY, ...more, end: { ...ENDED, ...end } as TracedEnd } });
  }

  /** How often a run counts as an agent's run. */
  get agents(): number {
    return this.meter.measured.filter(({ name }) => name === 'gen_ai.invoke_agent.duration').length;
  }
}

test.each([
  [{}, 1],
  [{ isWorkflow: true }, 0],
  [{ isFlow: true as const }, 0],
])(
  'the end %j counts %i times as the end of an agent: runs of programs and of flows are workflows, as in their spans',
  async (end, times) => {
    const reporting = new Reporting();
    reporting.end(end);
    await reporting.reports.flush();
    expect(reporting.agents).toBe(times);
    expect(reporting.sdk.exported).toHaveLength(1);
  },
);

test('an end that the server does not confirm is not counted as a run, and each of its spans counts as dropped', async () => {
  const reporting = new Reporting();
  reporting.answers = Promise.reject(new Error('unreachable'));
  reporting.answers.catch(() => undefined);
  const wait = { callId: 'c', toolName: 'pay', outcome: 'cancelled', agent: 'clerk', from: 1, to: 2 } as const;
  reporting.end({}, { waits: [wait, { ...wait, callId: 'e' }] });
  await reporting.reports.flush();
  expect([reporting.agents, reporting.meter.sum('longhaul.runs.ended'), reporting.sdk.exported]).toEqual([0, 0, []]);
  expect(reporting.telemetry.dropped).toBe(3);
});

test('the unconfirmed end of a session, which has no span, counts as one dropped', async () => {
  const reporting = new Reporting();
  reporting.answers = Promise.reject(new Error('unreachable'));
  reporting.answers.catch(() => undefined);
  reporting.end({ isSession: true });
  await reporting.reports.flush();
  expect(reporting.telemetry.dropped).toBe(1);
});

test('a part of a run without any end asks the server nothing', async () => {
  const reporting = new Reporting();
  reporting.reports.report(reporting.client, { ...TASK, part: EMPTY });
  await reporting.reports.flush();
  expect([reporting.asked, reporting.telemetry.dropped]).toEqual([0, 0]);
});

test('a worker that stops does not drop the reports of another one', async () => {
  const reporting = new Reporting();
  const { reports } = reporting;
  reports.open();
  reports.open();
  const { promise, resolve } = Promise.withResolvers();
  reporting.answers = promise;
  reporting.end();
  await reports.close();
  expect([reporting.agents, reporting.telemetry.dropped]).toEqual([0, 0]);
  resolve(undefined);
  await reports.close();
  expect([reporting.agents, reporting.sdk.exported.length, reporting.telemetry.dropped]).toEqual([1, 1, 0]);
});
