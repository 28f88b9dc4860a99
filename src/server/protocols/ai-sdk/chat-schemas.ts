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
