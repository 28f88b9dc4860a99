import { ApplicationFailure, defaultPayloadConverter, type Payload } from '@temporalio/common';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow/index.js';
import { randomUUID } from 'node:crypto';
import type { LonghaulClient } from '../../../src/client/index.ts';
import { AGENT_RUN } from '../../../src/core/protocol.ts';
import type { Testbed } from '../testbed/testbed.ts';

/** A payload of these bytes. Without an encoding it has no metadata. */
export function rawPayload(encoding: string | undefined, data: string | Uint8Array, more: Record<string, string> = {}): Payload {
  const metadata = Object.entries({ ...(encoding === undefined ? {} : { encoding }), ...more });
  return {
    ...(metadata.length === 0 ? {} : { metadata: Object.fromEntries(metadata.map(([name, value]) => [name, Buffer.from(value)])) }),
    data: Buffer.from(data),
  };
}

/** A value as a client without a codec sends it. */
export function plainPayload(value: unknown): Payload {
  return defaultPayloadConverter.toPayload(value);
}

/** A start whose payloads are sent unchanged. */
export interface RawStart {
  input: Payload[];
  memo?: Record<string, Payload>;
  headers?: Record<string, Payload>;
  /** Default: the workflow of an agent's run. */
  workflowType?: string;
}

/** Calls the server without a data converter. */
export class RawCaller {
  readonly #testbed: Testbed;
  readonly #reader: LonghaulClient;

  /** `reader` decodes the answers of the worker. */
  constructor(testbed: Testbed, reader: LonghaulClient) {
    this.#testbed = testbed;
    this.#reader = reader;
  }

  /** Starts a run and returns its id. */
  async start({ input, memo = {}, headers = {}, workflowType = AGENT_RUN }: RawStart): Promise<string> {
    const workflowId = `raw-${randomUUID()}`;
    await this.#service.startWorkflowExecution({
      ...this.#asked,
      workflowId,
      workflowType: { name: workflowType },
      taskQueue: { name: this.#testbed.taskQueue },
      input: { payloads: input },
      memo: { fields: memo },
      header: { fields: headers },
    });
    return workflowId;
  }

  async signal(workflowId: string, signalName: string, input: Payload, headers: Record<string, Payload> = {}): Promise<void> {
    await this.#service.signalWorkflowExecution({
      ...this.#asked,
      workflowExecution: { workflowId },
      signalName,
      input: { payloads: [input] },
      header: { fields: headers },
    });
  }

  /** Sends an Update and returns the type and the message of the failure that answers it. */
  async update(
    workflowId: string,
    name: string,
    input: Payload,
    headers: Record<string, Payload> = {},
  ): Promise<{ type: string; message: string }> {
    const { outcome } = await this.#service.updateWorkflowExecution({
      ...this.#asked,
      workflowExecution: { workflowId },
      waitPolicy: { lifecycleStage: 3 },
      request: {
        meta: { updateId: randomUUID(), identity: 'raw' },
        input: { name, args: { payloads: [input] }, header: { fields: headers } },
      },
    });
    const failure = await decodeOptionalFailureToOptionalError(this.#reader.temporal.options.loadedDataConverter, outcome?.failure);
    return { type: failure instanceof ApplicationFailure ? (failure.type ?? '') : '', message: failure?.message ?? '' };
  }

  /** Sends a query and returns the failure that answers it. */
  async query(workflowId: string, queryType: string, input: Payload): Promise<string> {
    const asked = this.#service.queryWorkflow({
      namespace: this.#asked.namespace,
      execution: { workflowId },
      query: { queryType, queryArgs: { payloads: [input] } },
    });
    return asked.then(
      () => '',
      (error: unknown) => String(error),
    );
  }

  get #service(): Testbed['client']['temporal']['workflowService'] {
    return this.#testbed.client.temporal.workflowService;
  }

  get #asked(): { namespace: string; identity: string; requestId: string } {
    return { namespace: this.#testbed.client.temporal.options.namespace, identity: 'raw', requestId: randomUUID() };
  }
}
