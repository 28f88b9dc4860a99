import {
  type ConverterHint,
  defaultPayloadConverter,
  type Payload,
  type PayloadConverter,
  type SerializationContext,
} from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import { readOrMark } from '../../src/core/domain/json/unreadable.ts';
import { AGENT_RUN } from '../../src/core/protocol.ts';

/**
 * The default converter, but for what a run of an agent cannot read: an error here would fail the workflow task, which is
 * tried again for ever, so that the run gets an `Unreadable` to refuse. For workflows of the user it is an error as ever:
 * they do not know of such values. Loaded by its path, into the sandbox alone.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),
  fromPayload<Value>(payload: Payload, context?: SerializationContext, hint?: ConverterHint<Value>): Value {
    const read = (): Value => defaultPayloadConverter.fromPayload<Value>(payload, context, hint);
    return workflowInfo().workflowType === AGENT_RUN ? (readOrMark(payload, read) as Value) : read();
  },
};
