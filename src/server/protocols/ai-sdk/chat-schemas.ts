import { z } from 'zod';
import { component } from '../../schemas/component.ts';

/** The data of one message of the stream of a chat. */
export const chatChunk = component(
  'UiMessageChunk',
  z.looseObject({ type: z.string() }).describe('A chunk of the UI message stream protocol of the AI SDK. The last message is `[DONE]`.'),
);

/** The answer to a request to stop. */
export const interruptReceipt = component(
  'ChatStopped',
  z.object({
    version: z.literal(1),
    interrupted: z.boolean().describe('False: the chat was giving no answer.'),
    turn: z.number().exactOptional(),
  }),
);

/** Messages of a chat. */
export const chatMessages = component(
  'ChatMessages',
  z.object({
    messages: z
      .array(
        z.looseObject({
          id: z.string(),
          role: z.enum(['user', 'assistant']),
          metadata: z.looseObject({ runId: z.string(), turn: z.number() }),
          parts: z.array(z.looseObject({ type: z.string() })),
        }),
      )
      .describe('Messages in the form of `UIMessage` of the AI SDK.'),
    before: z.number().exactOptional().describe('Present if there are earlier turns: the `before` of the next page.'),
  }),
);
