import { Chat } from '@ai-sdk/react';
import { type ChatInit, DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses, type UIMessage } from 'ai';
import { type Caller, createHandler, type Handler, type HandlerOptions } from '../../../src/server/index.ts';
import type { FakeChat } from './fake-chat.ts';

/** The service of one session, for a caller with these rights. */
export function serviceOf(session: FakeChat, caller: Partial<Caller> = {}, options: HandlerOptions = {}): Handler {
  const whole: Caller = { id: 'ada', scopes: ['runs:read', 'runs:write', 'approvals:decide'], ...caller };
  return createHandler(session.client(), { authenticate: () => whole, onError: () => undefined, ...options });
}

/** Returns a fetch that calls a handler, as a browser would. */
export function fetchFrom(handler: Handler): typeof fetch {
  return async (input, init) => handler(new Request(new URL(input instanceof Request ? input.url : input, 'http://localhost'), init));
}

/** A page with a chat, made of the classes of the AI SDK. */
export function pageOf(
  handler: Handler,
  {
    id = 'c1',
    messages = [],
    sendAutomaticallyWhen = lastAssistantMessageIsCompleteWithApprovalResponses,
  }: Pick<ChatInit<UIMessage>, 'id' | 'messages' | 'sendAutomaticallyWhen'> = {},
): Chat<UIMessage> & {
  events: string[];
} {
  const events: string[] = [];
  const transport = new DefaultChatTransport<UIMessage>({ api: '/v1/agents/clerk/chat', fetch: fetchFrom(handler) });
  const chat = new Chat<UIMessage>({
    id,
    messages,
    transport,
    sendAutomaticallyWhen,
    onData: ({ type }) => events.push(type),
    onFinish: ({ finishReason, isDisconnect, isError }) => {
      events.push(isDisconnect ? 'disconnected' : isError ? 'error' : `finished: ${finishReason}`);
    },
  });
  return Object.assign(chat, { events });
}

/** The texts of the last message. */
export function textOf({ messages }: { messages: UIMessage[] }): string {
  return (messages.at(-1)?.parts ?? []).map((part) => (part.type === 'text' ? part.text : '')).join('');
}

/** The id of the approval that the last part of a message asks for. */
export function approvalIn(message: UIMessage | undefined): string {
  const part = message?.parts.at(-1);
  return part !== undefined && 'approval' in part ? (part.approval?.id ?? '') : '';
}
