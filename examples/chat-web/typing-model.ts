import { setTimeout as pause } from 'node:timers/promises';
import type { ContentItem, ModelClient } from 'longhaul';
import { scriptedModel } from '../chat/scripted-model.ts';

/** The story that the model tells. */
export const STORY =
  'Once upon a time a lamp was sent to a house by the sea. It came in a box that was much too large, between two layers of paper, ' +
  'and it arrived whole. Every evening it was lit, and every evening the people of the house sat around it and told each other what ' +
  'they had seen that day: ships, mostly, and now and then a whale. One night the wind opened the window and the lamp fell from the ' +
  'table. The next morning someone wrote to the shop, and the shop did what shops in stories do: it paid the money back.';

/** Creates a model that answers like the model of `examples/chat`, word by word. It tells a story to those who ask for one. */
export function typingModel({ everyMs = 120 }: { everyMs?: number } = {}): ModelClient {
  const scripted = scriptedModel();
  return {
    capabilities: { structuredOutput: true },
    call: async (request, context) => {
      const response = await scripted.call(request, context);
      const isStory = /story/i.test(newestMessage(request.conversation.flatMap(({ content }) => content)));
      const content = isStory ? STORY : response.content;
      for (const word of content.split(/(?<= )/)) {
        context.onDelta?.({ type: 'text', text: word });
        await pause(everyMs, undefined, { signal: context.signal });
      }
      return { ...response, content };
    },
  };
}

function newestMessage(items: readonly ContentItem[]): string {
  const message = items.findLast((item) => item.type === 'message' && item.role === 'user');
  return message?.type === 'message' && typeof message.content === 'string' ? message.content : '';
}
