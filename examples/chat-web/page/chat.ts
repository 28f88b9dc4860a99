import { Chat } from '@ai-sdk/react';
import { DefaultChatTransport, isToolUIPart, type UIMessage } from 'ai';
import type { ChatMetadata } from 'longhaul/server';

/** A message of a chat with its run and turn. */
export type ChatMessage = UIMessage<ChatMetadata>;

/** The path of the agent's chats. */
const API = '/v1/agents/clerk/chat';

/** Opens the chat that the URL names, with the messages that this browser has shown. */
export function openChat(id: string): Chat<ChatMessage> {
  return new Chat<ChatMessage>({
    id,
    messages: JSON.parse(localStorage.getItem(id) ?? '[]') as ChatMessage[],
    transport: new DefaultChatTransport<ChatMessage>({
      api: API,
      // The service reads the newest message and the answers to approvals: the conversation stays where it is.
      prepareSendMessagesRequest: ({ id: chat, messages, trigger, messageId }) => ({
        body: { id: chat, trigger, messageId, messages: messages.filter((one) => one === messages.at(-1) || one.id === messageId) },
      }),
    }),
    sendAutomaticallyWhen: ({ messages }) => isAnswered(messages.at(-1)),
  });
}

/** Stops the answer for all who follow it. The `stop` of the chat would only stop reading. */
export async function stopAnswer({ id }: Chat<ChatMessage>): Promise<void> {
  await fetch(`${API}/${encodeURIComponent(id)}/stop`, { method: 'POST' });
}

/** Gets what has been missed: the answer that is being given, or the recorded one if it has ended meanwhile. */
export async function catchUp(chat: Chat<ChatMessage>): Promise<void> {
  if (chat.status === 'streaming' || chat.status === 'submitted') return;
  await chat.resumeStream();
  const last = chat.messages.at(-1);
  if (chat.status === 'ready' && last !== undefined && !isComplete(last)) await chat.regenerate();
}

/** True once all calls that wait are answered, and one of the answers has not been sent. */
function isAnswered(message: ChatMessage | undefined): boolean {
  const states = message?.parts.filter(isToolUIPart).map(({ state }) => state) ?? [];
  return states.includes('approval-responded') && !states.includes('approval-requested');
}

/** True for an answer that has ended, or that waits for a person. */
function isComplete({ role, metadata, parts }: ChatMessage): boolean {
  return (
    role === 'assistant' &&
    (metadata?.stopReason !== undefined || parts.some((part) => isToolUIPart(part) && part.state === 'approval-requested'))
  );
}
