import { z } from 'zod';
import { component } from './component.ts';
import { event, stepResult } from './run-record.ts';
import { streamedResult } from './run-views.ts';

const delta = component(
  'Delta',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('text'), text: z.string() }),
    z.object({ type: z.literal('reasoning'), text: z.string() }),
    z.object({ type: z.literal('tool_input'), callId: z.string(), toolName: z.string(), text: z.string() }),
    z.object({ type: z.literal('data'), callId: z.string(), name: z.string(), data: z.unknown() }),
  ]),
);

/** The data of one message of a stream. Its cursor is the id of the message. */
export const streamItem = component(
  'StreamItem',
  z.discriminatedUnion('type', [
    z.object({ type: z.literal('event'), offset: z.number(), event }),
    z.object({ type: z.literal('step'), step: stepResult }),
    z.object({
      type: z.literal('delta'),
      step: z.number(),
      attempt: z.number(),
      eventId: z.string(),
      callId: z.string().exactOptional(),
      delta,
    }),
    z.object({
      type: z.literal('reset'),
      step: z.number(),
      attempt: z.number(),
      callId: z.string().exactOptional(),
      offset: z.number().exactOptional(),
    }),
    z.object({ type: z.literal('gap') }),
    z.object({ type: z.literal('status'), status: z.string() }),
    z.object({ type: z.literal('end'), result: streamedResult }),
  ]),
);
