import {
  type ConverterHint,
  defaultPayloadConverter,
  type Payload,
  type PayloadConverter,
  type SerializationContext,
  type TypeInfo,
} from '@temporalio/common';
import { workflowInfo } from '@temporalio/workflow';
import { readOrMark } from '../src/domain/unreadable.ts';
import { AGENT_RUN } from '../src/protocol.ts';

/** Says of a value that an agent takes it, whichever workflow the agent runs in. */
export const TAKEN_BY_AGENT = { payloadConverterHint: { converter: 'longhaul' } } satisfies TypeInfo;

/**
 * The default converter, but for what a run of an agent cannot read: an error here would fail the workflow task, which is
 * tried again for ever, so that the run gets an `Unreadable` to refuse. For what a workflow of the user takes itself it is
 * an error as ever: the user does not know of such values. Loaded by its path, into the sandbox alone.
 */
export const payloadConverter: PayloadConverter = {
  toPayload: (value, context, hint) => defaultPayloadConverter.toPayload(value, context, hint),
  fromPayload<Value>(payload: Payload, context?: SerializationContext, hint?: ConverterHint<Value>): Value {
    const isForAgent = hint?.converter === TAKEN_BY_AGENT.payloadConverterHint.converter;
    const read = (): Value => defaultPayloadConverter.fromPayload<Value>(payload, context, isForAgent ? undefined : hint);
    return isForAgent || workflowInfo().workflowType === AGENT_RUN ? (readOrMark(payload, read) as Value) : read();
  },
};
