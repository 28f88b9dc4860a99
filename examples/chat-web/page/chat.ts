import { Chat } from '@ai-sdk/react';
import { DefaultChatTransport, isToolUIPart, type ToolUIPart, type UIMessage } from 'ai';
import type { ChatMetadata } from 'longhaul/server';

/** A message of a chat with its run and turn. */
export type ChatMessage = UIMessage<ChatMetadata>;

/** The path of the agent's chats. */
const API = '/v1/agents/clerk/chat';

/** Opens the chat that the URL names, with the messages of its earlier turns. */
export async function openChat(id: string): Promise<Chat<ChatMessage>> {
  const recorded = await recordedMessages(id);
  const unsent = unsentMessage(id, recorded);
  return new Chat<ChatMessage>({
    id,
    messages: [...recorded, ...unsent],
    transport: new DefaultChatTransport<ChatMessage>({
      api: API,
      // The service reads the newest message and the answers to approvals: the conversation stays where it is.
      prepareSendMessagesRequest: ({ id: chat, messages, trigger, messageId }) => ({
        body: { id: chat, trigger, messageId, messages: messages.filter((one) => one === messages.at(-1) || one.id === messageId) },
      }),
    }),
    sendAutomaticallyWhen: ({ messages }) => isAnswered(messages.findLast(({ role }) => role === 'assistant')),
  });
}

/** A message of the user, with the id of the answer before it. */
interface Unsent {
  message: ChatMessage;
  behind?: string | undefined;
}

/** Keeps the newest message of the user until it is answered: a page may be loaded again before the session has recorded it. */
export function keepUnsent({ id, messages }: Chat<ChatMessage>): void {
  const message = messages.at(-1);
  if (message?.role === 'user') {
    const behind = messages.findLast(({ role }) => role === 'assistant')?.id;
    localStorage.setItem(id, JSON.stringify({ message, behind } satisfies Unsent));
  } else if (message?.metadata?.stopReason !== undefined) localStorage.removeItem(id);
}

/** Returns that message, unless the session has recorded it. */
function unsentMessage(id: string, recorded: readonly ChatMessage[]): ChatMessage[] {
  const kept = JSON.parse(localStorage.getItem(id) ?? 'null') as Unsent | null;
  if (kept === null) return [];
  const since = recorded.slice(recorded.findIndex((one) => one.id === kept.behind) + 1);
  return since.some(({ role }) => role === 'user') ? [] : [kept.message];
}

/** Reads the messages of the newest turns. The service has them, so any browser shows the chat. */
async function recordedMessages(id: string): Promise<ChatMessage[]> {
  const response = await fetch(`${API}/${encodeURIComponent(id)}`);
  return response.ok ? ((await response.json()) as { messages: ChatMessage[] }).messages : [];
}

/** Stops the answer for all who follow it. The `stop` of the chat would only stop reading. */
export async function stopAnswer({ id }: Chat<ChatMessage>): Promise<void> {
  await fetch(`${API}/${encodeURIComponent(id)}/stop`, { method: 'POST' });
}

/** Gets the missed part: the answer in progress, or the recorded answer if it has ended meanwhile. */
export async function catchUp(chat: Chat<ChatMessage>): Promise<void> {
  if (chat.status === 'streaming' || chat.status === 'submitted') return;
  await chat.resumeStream();
  const last = chat.messages.at(-1);
  if (chat.status !== 'ready' || last === undefined || isComplete(last)) return;
  // A message of the record was sent: its answer has been recorded meanwhile. Any other is sent, once for its id.
  if (last.role === 'user' && last.metadata !== undefined && last.metadata.unread === undefined)
    chat.messages = await recordedMessages(chat.id);
  else await chat.regenerate();
}

/**
 * Listens for a decision of someone else while a call of the newest answer waits: the answer ended with the cursor behind which the
 * session continues. Returns the function that stops it.
 */
export function hearDecisions(chat: Chat<ChatMessage>): () => void {
  const last = chat.messages.at(-1);
  const { runId, cursor } = last?.metadata ?? {};
  if (chat.status !== 'ready' || last === undefined || !waits(last) || runId === undefined || cursor === undefined) return () => undefined;
  const source = new EventSource(`/v1/sessions/${encodeURIComponent(runId)}/stream?cursor=${encodeURIComponent(cursor)}`);
  const hear = (): void => {
    source.close();
    void showDecision(chat);
  };
  source.addEventListener('event', hear);
  source.addEventListener('status', ({ data }) => {
    if ((JSON.parse(String(data)) as { status: string }).status !== 'pending_confirmation') hear();
  });
  source.addEventListener('problem', () => source.close());
  return () => source.close();
}

/** Shows how the answer continues: it is being given, or it has ended meanwhile and is recorded. */
async function showDecision(chat: Chat<ChatMessage>): Promise<void> {
  const before = JSON.stringify(chat.messages.at(-1));
  await chat.resumeStream();
  if (chat.status === 'ready' && JSON.stringify(chat.messages.at(-1)) === before) chat.messages = await recordedMessages(chat.id);
}

/** True for an answer with a call that waits for a decision. */
function waits({ parts }: ChatMessage): boolean {
  return parts.some((part) => isToolUIPart(part) && part.state === 'approval-requested');
}

/** True for a call about which someone else than the user of the page decides. */
export function isOfOthers({ approval }: Pick<ToolUIPart, 'approval'>): boolean {
  return (approval?.descriptor as { decidedBy?: string } | undefined)?.decidedBy === 'others';
}

/** True once all calls about which the user decides are answered, and one of the answers has not been sent. */
function isAnswered(message: ChatMessage | undefined): boolean {
  const own = message?.parts.filter(isToolUIPart).filter((call) => !isOfOthers(call)) ?? [];
  const states = own.map(({ state }) => state);
  return states.includes('approval-responded') && !states.includes('approval-requested');
}

/** True for an answer that has ended, or that waits for a person. */
function isComplete(message: ChatMessage): boolean {
  return message.role === 'assistant' && (message.metadata?.stopReason !== undefined || waits(message));
}
