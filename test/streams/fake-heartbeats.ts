import type { Client } from '@temporalio/client';
import { defaultPayloadConverter, type Payload } from '@temporalio/common';
import { withUncountedAttempts } from '../../src/core/domain/missing-definitions.ts';
import { type StreamedAttempt, withStreamedOutput } from '../../src/core/domain/stream.ts';
import type { PublishingActivity } from '../../src/streams/stream-sink.ts';

interface Pending {
  attempt: number;
  details: Payload | undefined;
}

/** The part of a server that keeps the heartbeats of calls in flight. */
export class FakeHeartbeats {
  /** The number of questions about a run. */
  questions = 0;
  /** The number of heartbeats. */
  heartbeats = 0;
  isAway = false;
  readonly #runs = new Map<string, Map<string, Pending>>();

  /** A client of this server. */
  get client(): Client {
    const workflowService = {
      getSystemInfo: () => Promise.resolve({}),
      describeWorkflowExecution: ({ execution }: { execution: { workflowId: string } }) => {
        this.questions += 1;
        if (this.isAway) return Promise.reject(new Error('The server is away'));
        const calls = [...(this.#runs.get(execution.workflowId) ?? [])];
        const pendingActivities = calls.map(([activityId, { attempt, details }]) => ({
          activityId,
          attempt,
          heartbeatDetails: details === undefined ? null : { payloads: [details] },
        }));
        return Promise.resolve({ pendingActivities });
      },
    };
    const client: Partial<Client> = {};
    return Object.assign(client as Client, { workflowService });
  }

  /** Begins a call. Its heartbeats have these details in addition to its output. */
  activity(runId: string, of: StreamedAttempt, { live = true, own }: { live?: boolean; own?: unknown } = {}): PublishingActivity {
    const pending: Pending = { attempt: of.attempt, details: undefined };
    const calls = this.#runs.get(runId) ?? new Map<string, Pending>();
    this.#runs.set(runId, calls);
    calls.set(callKey(of), pending);
    return {
      live,
      heartbeat: (output) => {
        this.heartbeats += 1;
        pending.details = defaultPayloadConverter.toPayload(withUncountedAttempts(of.attempt - 1, withStreamedOutput(output, own)));
      },
    };
  }

  /** Ends a call. */
  end(runId: string, of: StreamedAttempt): void {
    this.#runs.get(runId)?.delete(callKey(of));
  }
}

function callKey({ eventId, callId }: StreamedAttempt): string {
  return `${eventId}/${callId ?? ''}`;
}
