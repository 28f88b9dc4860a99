import { Client } from '@temporalio/client';
import { defaultPayloadConverter } from '@temporalio/common';
import { temporal } from '@temporalio/proto';
import { vi } from 'vitest';
import type { Principal } from '../../../src/core/domain/run.ts';
import type { RecordPage } from '../../../src/core/domain/views.ts';
import type { StreamChannel, StreamSink, StreamSinkContext } from '../../../src/streams/stream-sink.ts';
import type { FakeRun } from './fake-run.ts';

const RUNNING = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_RUNNING;
const COMPLETED = temporal.api.enums.v1.WorkflowExecutionStatus.WORKFLOW_EXECUTION_STATUS_COMPLETED;
const CLOSE_EVENT = temporal.api.enums.v1.HistoryEventFilterType.HISTORY_EVENT_FILTER_TYPE_CLOSE_EVENT;

/** A server that has one run, under any id, and the number of requests that it has got of each kind. */
export class FakeServer {
  readonly requests = { describe: 0, query: 0, history: 0 };
  /** True while it answers nothing. */
  isAway = false;
  readonly client: Client;
  readonly #run: FakeRun;
  readonly #principal: Principal;

  /** `principal`: the identity on whose behalf the run acts. */
  constructor(run: FakeRun, principal: Principal = {}) {
    this.#run = run;
    this.#principal = principal;
    const within = (_: unknown, work: () => unknown): unknown => work();
    const connection = {
      options: { address: 'temporal.example:7233' },
      workflowService: { getWorkflowExecutionHistory: async (request: HistoryRequest) => this.#history(request) },
      withDeadline: within,
      withAbortSignal: within,
    };
    this.client = new Client({
      connection: connection as never,
      interceptors: {
        workflow: [{ describe: async () => this.#describe(), query: async ({ args: [place] }) => this.#query(place as Place) }],
      },
    });
  }

  #describe(): temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse {
    this.requests.describe += 1;
    if (this.isAway) throw new Error('The server is away');
    const { executionId, events, result } = this.#run;
    return temporal.api.workflowservice.v1.DescribeWorkflowExecutionResponse.fromObject({
      workflowExecutionInfo: {
        execution: { workflowId: 'run-1', runId: executionId },
        type: { name: 'agentRun' },
        status: result === undefined ? RUNNING : COMPLETED,
        startTime: { seconds: 1, nanos: 0 },
        historyLength: events.length + 1,
      },
    });
  }

  async #query({ from, step }: Place): Promise<RecordPage> {
    this.requests.query += 1;
    const { executionId, events: all, steps: allSteps, status } = this.#run;
    const { events, steps } = await this.#run.sources().pages.read({ offset: from, step });
    return {
      version: 1,
      executionId,
      status,
      firstOffset: 0,
      from,
      events: [...events],
      total: all.length,
      firstStep: 0,
      steps: [...steps],
      totalSteps: allSteps.length,
    };
  }

  #history({ historyEventFilterType }: HistoryRequest): object {
    this.requests.history += 1;
    const payloads = (value: unknown): object => ({ payloads: [defaultPayloadConverter.toPayload(value)] });
    const event =
      historyEventFilterType === CLOSE_EVENT
        ? { workflowExecutionCompletedEventAttributes: { result: payloads(this.#run.result) } }
        : { workflowExecutionStartedEventAttributes: { input: payloads({ principal: this.#principal }) } };
    return { history: { events: [event] } };
  }
}

interface HistoryRequest {
  historyEventFilterType?: number;
}

interface Place {
  from: number;
  step: number;
}

/** A sink that carries the entries of a run, and records how it is used. */
export class FakeSink implements StreamSink {
  readonly name = 'fake';
  readonly open = vi.fn<(context: StreamSinkContext) => StreamChannel>(() => this.#channel);
  readonly read = vi.fn<StreamChannel['read']>((_, { signal }) => this.#run.live(signal));
  readonly health = vi.fn<StreamChannel['health']>(async () => undefined);
  readonly close = vi.fn<StreamChannel['close']>(async () => undefined);
  readonly #run: FakeRun;
  readonly #channel: StreamChannel;

  /** `announces`: workers announce recorded events. */
  constructor(run: FakeRun, { announces = true }: { announces?: boolean } = {}) {
    this.#run = run;
    const { read, health, close } = this;
    this.#channel = { announces, publish: () => undefined, read, removeRun: () => Promise.resolve(), health, close };
  }

  /** The runs that were read, in order. */
  get runs(): string[] {
    return this.read.mock.calls.map(([runId]) => runId);
  }

  /** The number of reads in progress. */
  get reading(): number {
    return this.read.mock.calls.filter(([, { signal }]) => !signal.aborted).length;
  }
}
