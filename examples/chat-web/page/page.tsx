import { type Chat, useChat } from '@ai-sdk/react';
import { isToolUIPart } from 'ai';
import { type ReactNode, type SubmitEvent, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { catchUp, type ChatMessage, hearDecisions, keepUnsent, openChat, stopAnswer } from './chat.ts';

/** The pause before a page that was cut off tries again. */
const RETRY_MS = 1_000;

function Page({ chat }: { chat: Chat<ChatMessage> }): ReactNode {
  const { messages, status, error, sendMessage } = useChat({ chat });
  const [text, setText] = useState('');
  const isBusy = status === 'submitted' || status === 'streaming';
  useEffect(() => keepUnsent(chat), [chat, messages]);
  useEffect(() => void catchUp(chat), [chat]);
  useEffect(() => hearDecisions(chat), [chat, messages, status]);
  // `fetch` fails with a TypeError if the connection is lost.
  const isCutOff = error instanceof TypeError;
  useEffect(() => {
    if (!isCutOff) return undefined;
    const timer = setTimeout(() => void catchUp(chat), RETRY_MS);
    return () => clearTimeout(timer);
  }, [chat, isCutOff, error]);
  const send = (event: SubmitEvent): void => {
    event.preventDefault();
    if (text.trim() === '') return;
    void sendMessage({ text });
    setText('');
  };
  return (
    <>
      <h1>Chat with the clerk of a shop</h1>
      {messages.map((message) => (
        <Message key={message.id} chat={chat} message={message} />
      ))}
      <p className={error === undefined || isCutOff ? 'note' : 'problem'} data-status={status}>
        {isCutOff ? 'The connection is lost. Trying again …' : (error?.message ?? (isBusy ? 'The clerk is answering …' : ''))}
      </p>
      <form onSubmit={send}>
        <input value={text} onChange={(event) => setText(event.target.value)} placeholder="Order 42 arrived broken, or: tell me a story" />
        {isBusy && (
          <button type="button" className="quiet" onClick={() => void stopAnswer(chat)}>
            Stop
          </button>
        )}
        <button>Send</button>
      </form>
    </>
  );
}

function Message({ chat, message: { role, parts, metadata } }: { chat: Chat<ChatMessage>; message: ChatMessage }): ReactNode {
  return (
    <article className={role}>
      {parts.map((part, index) => {
        if (part.type === 'text') return <p key={index}>{part.text}</p>;
        return isToolUIPart(part) ? <Call key={part.toolCallId} chat={chat} part={part} /> : undefined;
      })}
      {metadata?.stopReason === 'cancelled' && <p className="note">Stopped.</p>}
    </article>
  );
}

type ToolPart = Extract<ChatMessage['parts'][number], { toolCallId: string }>;

function Call({ chat, part }: { chat: Chat<ChatMessage>; part: ToolPart }): ReactNode {
  const decide = (approved: boolean): void => {
    if (part.approval !== undefined) void chat.addToolApprovalResponse({ id: part.approval.id, approved });
  };
  return (
    <div className="call" data-state={part.state}>
      <code>
        {part.type.replace(/^tool-/, '')} {JSON.stringify(part.input)}
      </code>
      {part.state === 'approval-requested' && (
        <div>
          <button type="button" onClick={() => decide(true)}>
            Approve
          </button>
          <button type="button" className="quiet" onClick={() => decide(false)}>
            Reject
          </button>
        </div>
      )}
      {part.state === 'output-available' && <div>{JSON.stringify(part.output)}</div>}
      {part.state === 'output-error' && <div className="problem">{part.errorText}</div>}
      {part.state === 'output-denied' && <div>Rejected.</div>}
    </div>
  );
}

const root = document.querySelector('#page');
if (root !== null) {
  if (location.hash === '') location.hash = crypto.randomUUID();
  createRoot(root).render(<Page chat={await openChat(location.hash.slice(1))} />);
}
