import type { Message } from '../../core/domain/content/content.ts';
import { stepMessages } from '../../core/domain/content/conversation/step-messages.ts';
import type { ConversationEvent } from '../../core/domain/model/model.ts';
import type { ReplyStep } from './reply-steps.ts';

/** Returns steps as the conversation that a provider receives: messages alone. `author` is the agent. */
export function stepEvents(steps: readonly ReplyStep[], author: string): ConversationEvent[] {
  return steps.flatMap((step) => {
    const { providerItems, media = [] } = step;
    return stepMessages([step]).map((message): ConversationEvent => {
      if (message.role === 'assistant') return { author, content: [message], ...(providerItems === undefined ? {} : { providerItems }) };
      return { author: message.role, content: [step.type === 'action' ? withMedia(message, media) : message] };
    });
  });
}

function withMedia(message: Message, media: NonNullable<ReplyStep['media']>): Message {
  if (media.length === 0 || typeof message.content !== 'string') return message;
  return { ...message, content: [{ type: 'text', text: message.content }, ...media] };
}
