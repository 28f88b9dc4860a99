// A page with React shows an answer as the model writes it. A reload, a lost connection or a killed worker in the middle does no harm.
import { type UseChatHelpers, useChat } from '@ai-sdk/react';
import { type ChatInit, DefaultChatTransport, isToolUIPart, type ToolUIPart, type UIMessage } from 'ai';
import type { LonghaulClient } from 'longhaul/client';
import { type ChatMetadata, createHandler, type Handler, jwt } from 'longhaul/server';

/** The service: any number of processes. `streams` of the client and of the workers is the same sink, such as `redisStreams({ url })`. */
export function chatService(client: LonghaulClient, issuer: string): Handler {
  return createHandler(client, {
    authenticate: jwt({ issuer, audience: 'chat' }), // its `sub` is the user, its `scope` says chats:read chats:write
    chats: () => ({ limits: { turns: 200, totalTokens: 2_000_000 } }),
  });
}

type Message = UIMessage<ChatMetadata>;

/** The chat of a page. The service has the conversation: the page sends its newest message alone. */
export function chatWith(agent: string, id: string, token: () => Promise<string>, origin = ''): ChatInit<Message> {
  return {
    id,
    transport: new DefaultChatTransport<Message>({
      api: `${origin}/v1/agents/${agent}/chat`,
      headers: async () => ({ Authorization: `Bearer ${await token()}` }),
      prepareSendMessagesRequest: ({ id: chat, messages, trigger, messageId }) => ({
        body: { id: chat, trigger, messageId, messages: messages.slice(-1) },
      }),
    }),
    // A decision of the user is sent once no call of the newest answer is waiting, except for those about which others decide.
    sendAutomaticallyWhen: ({ messages }) => {
      const answer = messages.findLast(({ role }) => role === 'assistant');
      const own = answer?.parts.filter(isToolUIPart).filter((call) => !isOfOthers(call)) ?? [];
      const states = own.map(({ state }) => state);
      return states.includes('approval-responded') && !states.includes('approval-requested');
    },
  };
}

/** True for a call about which someone else than the user decides: the page shows no buttons for it. */
export function isOfOthers({ approval }: Pick<ToolUIPart, 'approval'>): boolean {
  return (approval?.descriptor as { decidedBy?: string } | undefined)?.decidedBy === 'others';
}

/** The hook of the page. `resume` shows the answer in progress after a reload, from its beginning. */
export function useClerk(id: string, token: () => Promise<string>): UseChatHelpers<Message> {
  return useChat<Message>({ ...chatWith('clerk', id, token), resume: true });
}
