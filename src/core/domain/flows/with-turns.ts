import { isRecall } from '../memory/recalled.ts';
import type { ConversationEvent } from '../model/model.ts';

/** The message before the turn of an agent that has only answers of others to go on from: some providers take no conversation that ends with an answer. */
const YOUR_TURN = 'It is your turn now. Go on from the answer above.';

/**
 * Returns the conversation with a message of the user after each answer that another agent goes on from. Only the agents of a flow go on
 * from an answer. Nothing is recorded: the message is part of the request.
 */
export function withTurns(conversation: ConversationEvent[]): ConversationEvent[] {
  return conversation.flatMap((event, index) => {
    const next = eventAfter(conversation, index);
    const isOvertaken = isAnswer(event) && (next === undefined || (isOfAgent(next) && next.author !== event.author));
    return isOvertaken ? [event, turnEvent()] : [event];
  });
}

/** Returns the next event. What the next agent recalled is no message that it answers. */
function eventAfter(conversation: readonly ConversationEvent[], index: number): ConversationEvent | undefined {
  let at = index + 1;
  for (let next = conversation[at]; next !== undefined && isRecall(next); next = conversation[at]) at += 1;
  return conversation[at];
}

function turnEvent(): ConversationEvent {
  return { author: 'user', content: [{ type: 'message', role: 'user', content: YOUR_TURN }] };
}

function isAnswer({ content }: ConversationEvent): boolean {
  return content.length > 0 && content.every((item) => item.type === 'message' && item.role === 'assistant');
}

function isOfAgent({ content }: ConversationEvent): boolean {
  return content.some((item) => item.type === 'tool_call' || (item.type === 'message' && item.role === 'assistant'));
}
