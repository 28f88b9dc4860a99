import type { Client } from '@temporalio/client';
import { decodeArrayFromPayloads, decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import type { LoadedDataConverter } from '@temporalio/common';
import type { AgentSnapshot } from '../domain/agent-snapshot.ts';
import {
  ACTIVITIES,
  type CallModelInput,
  type CallModelOutput,
  type RunInput,
  type RunToolInput,
  type RunToolOutput,
} from '../protocol.ts';
import { type HistoryEvent, runHistory } from './run-history.ts';

/** How a recorded activity ended, and when the workflow learned of it (seconds of the history's clock, in milliseconds). */
export interface RecordedActivity<Input, Output> {
  input: Input;
  output?: Output;
  /** The failure of its last attempt. */
  failure?: Error;
  seenAt?: number;
}

/** What a run's history holds: enough to run the loop again without asking anything. */
export interface RecordedRun {
  startedAt: number;
  input?: RunInput;
  snapshot?: AgentSnapshot;
  modelCalls: RecordedActivity<CallModelInput, CallModelOutput>[];
  /** By call id. */
  toolCalls: Map<string, RecordedActivity<RunToolInput, RunToolOutput>>;
  cancelRequested?: { reason: string };
  closedAt?: number;
}

/** Reads the history of a run. Needs no worker. */
export async function recordedRun(client: Client, runId: string): Promise<RecordedRun> {
  const reader = new RunReader(client.options.loadedDataConverter);
  for await (const event of runHistory(client, runId)) await reader.read(event);
  return reader.run;
}

class RunReader {
  readonly run: RecordedRun = { startedAt: 0, modelCalls: [], toolCalls: new Map() };
  readonly #converter: LoadedDataConverter;
  readonly #scheduled = new Map<string, RecordedActivity<unknown, unknown> & { name: string }>();
  /** Activities that ended since the last workflow task began: the next one sees them. */
  #unseen: RecordedActivity<unknown, unknown>[] = [];

  constructor(converter: LoadedDataConverter) {
    this.#converter = converter;
  }

  async read(event: HistoryEvent): Promise<void> {
    const time = milliseconds(event);
    if (event.workflowExecutionStartedEventAttributes) {
      this.run.startedAt = time;
      const [input] = await this.#decode(event.workflowExecutionStartedEventAttributes.input);
      this.run.input = input as RunInput;
    } else if (event.activityTaskScheduledEventAttributes) {
      await this.#schedule(event);
    } else if (event.activityTaskCompletedEventAttributes) {
      const { scheduledEventId, result } = event.activityTaskCompletedEventAttributes;
      const [output] = await this.#decode(result);
      this.#end(scheduledEventId, { output });
    } else if (event.activityTaskFailedEventAttributes) {
      const { scheduledEventId, failure } = event.activityTaskFailedEventAttributes;
      this.#end(scheduledEventId, { failure: await this.#failure(failure) });
    } else if (event.activityTaskTimedOutEventAttributes) {
      const { scheduledEventId, failure } = event.activityTaskTimedOutEventAttributes;
      this.#end(scheduledEventId, { failure: await this.#failure(failure) });
    } else if (event.workflowTaskStartedEventAttributes) {
      for (const activity of this.#unseen) activity.seenAt = time;
      this.#unseen = [];
    } else if (event.workflowExecutionCancelRequestedEventAttributes) {
      this.run.cancelRequested = { reason: event.workflowExecutionCancelRequestedEventAttributes.cause ?? '' };
    } else if (isClose(event)) {
      this.run.closedAt = time;
    }
  }

  async #schedule(event: HistoryEvent): Promise<void> {
    const { activityType, input } = event.activityTaskScheduledEventAttributes ?? {};
    const [decoded] = await this.#decode(input);
    const name = activityType?.name ?? '';
    const activity = { name, input: decoded };
    this.#scheduled.set(String(event.eventId), activity);
    if (name === ACTIVITIES.callModel) this.run.modelCalls.push(activity as RecordedActivity<CallModelInput, CallModelOutput>);
    else if (name !== ACTIVITIES.resolveAgent) {
      const call = activity as RecordedActivity<RunToolInput, RunToolOutput>;
      this.run.toolCalls.set(call.input.callId, call);
    }
  }

  #end(scheduledEventId: unknown, ending: { output?: unknown; failure?: Error }): void {
    const activity = this.#scheduled.get(String(scheduledEventId));
    if (activity === undefined) return;
    Object.assign(activity, ending);
    this.#unseen.push(activity);
    if (activity.name === ACTIVITIES.resolveAgent && ending.output !== undefined) this.run.snapshot = ending.output as AgentSnapshot;
  }

  async #decode(payloads: { payloads?: object[] | null } | null | undefined): Promise<unknown[]> {
    return decodeArrayFromPayloads(this.#converter, payloads?.payloads);
  }

  async #failure(failure: Parameters<typeof decodeOptionalFailureToOptionalError>[1]): Promise<Error> {
    return (await decodeOptionalFailureToOptionalError(this.#converter, failure)) ?? new Error('unknown failure');
  }
}

/** Whole milliseconds, as the clock of a workflow shows them. */
function milliseconds({ eventTime }: HistoryEvent): number {
  return Number(eventTime?.seconds ?? 0) * 1000 + Math.floor((eventTime?.nanos ?? 0) / 1_000_000);
}

function isClose(event: HistoryEvent): boolean {
  return Boolean(
    event.workflowExecutionCompletedEventAttributes ??
    event.workflowExecutionFailedEventAttributes ??
    event.workflowExecutionCanceledEventAttributes ??
    event.workflowExecutionTerminatedEventAttributes ??
    event.workflowExecutionTimedOutEventAttributes,
  );
}
