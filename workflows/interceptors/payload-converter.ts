import {
  type ConverterHint,
  defaultPayloadConverter,
  type Payload,
  type PayloadConverter,
  type SerializationContext,
} from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import { readOrMark } from '../../src/core/domain/json.ts';
import { AGENT_RUN, BATCH_COLLECTOR, PROGRAM_RUN } from '../../src/core/protocol.ts';

const OWN: readonly string[] = [AGENT_RUN, PROGRAM_RUN, BATCH_COLLECTOR];

/**
 * The default converter, except that a run of an agent or a program, and a collector of batches, gets an `Unreadable` for a value that
 * cannot be decoded, and refuses it: an error would fail the workflow task, which the server retries forever. Workflows of the user get the
 * error, since they do not know `Unreadable`. Loaded by its path, only into the sandbox.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),
  fromPayload<Value>(payload: Payload, context?: SerializationContext, hint?: ConverterHint<Value>): Value {
    const read = (): Value => defaultPayloadConverter.fromPayload<Value>(payload, context, hint);
    const { workflowType } = workflowInfo();
    return OWN.includes(workflowType) ? (readOrMark(payload, read) as Value) : read();
  },
};
